// How the fit went: traces, convergence of the chains, uniqueness of the factors.

registerSection("fit", {
  link: "Fit",
  title: "Fit and convergence",
  create: (report, place, data) => new Fit(report, place, data),
});

// What the chains are judged by, for numbers and for classes: how it is called, and in what units.
const OF_NUMBERS = {
  trace: (target) => `noise scale of ${target}`,
  heading: "Noise after each sweep",
  monitored: "noise",
  drift: percent,
  relative: ", relative to the target’s standard deviation",
  unit: " of the target’s standard deviation",
  deviation: "the target’s standard deviation",
};
const OF_CLASSES = {
  trace: () => "log loss on the training rows",
  heading: "Log loss after each sweep",
  monitored: "log loss",
  drift: (x) => formatNumber(x, 2),
  relative: "",
  unit: "",
  deviation: "the standard deviation of the latent values",
};

const convergenceLines = ({ monitored, drift, relative, deviation }) => ({
  prediction_error: [`Monte Carlo error of the predictions, relative to ${deviation}`, percent],
  drift: [`Drift of the ${monitored} over the kept sweeps${relative}`, drift],
  prediction_ess: ["Effective sample size of the predictions", (x) => formatNumber(x, 3)],
  prediction_rhat: ["R-hat of the predictions", (x) => x.toFixed(2)],
  noise_rhat: [`R-hat of the ${monitored}`, (x) => x.toFixed(2)],
  smoothness_rhat: ["R-hat of the smoothness", (x) => x.toFixed(2)],
});
const LARGEST_DRIFT = 0.05, LARGEST_ERROR = 0.05; // in these units

class Fit {
  constructor(report, place, data) {
    Object.assign(this, { report, data });
    this.cards = element("div", { class: "cards wide", id: "fit-cards" });
    place.append(this.cards);
  }

  show(k) {
    const { curves, convergence, uniqueness } = this.data, { doc, lazy } = this.report;
    const words = doc.classes ? OF_CLASSES : OF_NUMBERS;
    const what = convergence ? words.trace(doc.targets[k]) : "objective", run = convergence ? "chain" : "start";
    const trace = lazy.place("drawing", (size) => [tracePlot(curves, k, what, run, size)]);
    const heading = convergence ? words.heading : "Objective after each sweep";
    const cards = curves.length ? [card(heading, null, trace, note(`A line for each ${run}. The scale is logarithmic.`))] : [];
    if (convergence) {
      const verdict = element("p", { id: "convergence" }, convergenceWords(convergence, words));
      const meaning = note(meaningOf(words));
      cards.push(card("Convergence", null, verdict, convergenceTable(convergence, words), meaning));
    } else cards.push(card("Uniqueness of the factors", null, note(uniqueness)));
    this.cards.replaceChildren(...cards);
  }
}

const meaningOf = ({ monitored }) =>
  "R-hat compares the variance between chains of one prior with that within them: near 1 they agree, above about 1.1 they " +
  "differ. Chains of a tensor model often reach the same predictions with other factors, so the R-hat of the " +
  `${monitored} and of the smoothness may be large in a good fit. Judge by the Monte Carlo error, which is that of the ` +
  "predictions. A larger n_burn or n_draws brings the R-hat of the predictions closer to 1.";

// Whether the predictions can be relied on, and what to do if not.
function convergenceWords({ prediction_error: error, drift }, words) {
  if (drift > LARGEST_DRIFT) {
    return (
      `The chains may not have converged: the ${words.monitored} drifted by ${words.drift(drift)}${words.unit}. ` +
      "Increase n_burn or use effort='best'."
    );
  }
  if (error === null) return "With a single chain, the Monte Carlo error cannot be estimated. Use n_chains=2 or more.";
  const change = `with other chains, predictions would change by about ${percent(error)} of ${words.deviation}.`;
  if (error > LARGEST_ERROR) return `The Monte Carlo error is large: ${change} Increase n_chains or use effort='best'.`;
  return `The Monte Carlo error is small: ${change}`;
}

function convergenceTable(metrics, of) {
  const rows = Object.entries(convergenceLines(of)).filter(([name]) => typeof metrics[name] === "number").map(([name, [words, format]]) => {
    return element("tr", {}, element("th", { scope: "row" }, words), element("td", { class: "number" }, format(metrics[name])));
  });
  const caption = element("caption", { class: "hidden" }, "Convergence of the chains");
  return element("table", { class: "metrics" }, caption, element("tbody", {}, ...rows));
}

// A quantity after each sweep, on a logarithmic scale, with a line for each chain or start.
function tracePlot(curves, k, what, run, size) {
  const lines = curves.map(({ sweeps, values }) => {
    const own = values[Math.min(k, values.length - 1)];
    return sweeps.map((sweep, i) => [sweep, Math.log10(Math.max(own[i], 1e-300))]);
  });
  const logs = lines.flat().map(([, value]) => value), last = Math.max(...lines.flat().map(([sweep]) => sweep));
  const y = [Math.min(...logs), Math.max(...logs)];
  const words = `${what} after each sweep, for ${counted(lines.length, run)}.`, names = ["sweep", what];
  let readings;
  const svg = squarePlot({ size, words, names, x: [1, Math.max(last, 2)], y, ticks: powerTicks(...y, 8) }, (x, at) => {
    const points = lines.map((one) => one.map(([sweep, value]) => [x(sweep), at(value)]));
    readings = points.flatMap((one, number) => one.map(([left, top], i) => {
      const [sweep, value] = lines[number][i];
      return { x: left, y: top, words: [`${run} ${number + 1}, sweep ${sweep}`, formatNumber(10 ** value)] };
    }));
    return points.map((one) => drawn("path", { class: "trace", d: path(one) }));
  });
  return readable(svg, () => readings);
}
