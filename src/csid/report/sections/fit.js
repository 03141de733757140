// How the fit went: traces, convergence of the chains, uniqueness of the factors.

registerSection("fit", {
  link: "Fit",
  title: "Fit and convergence",
  create: (report, place, data) => new Fit(report, place, data),
});

const CONVERGENCE = {
  prediction_rhat: "R-hat of the predictions (near 1 if the chains agree)",
  noise_rhat: "R-hat of the noise",
  smoothness_rhat: "R-hat of the smoothness",
  prediction_ess: "Effective sample size of the predictions",
  prediction_error: "Monte Carlo error of the predictions, in standard deviations of the target",
  drift: "Drift of the noise over the kept sweeps, in standard deviations of the target",
};

class Fit {
  constructor(report, place, data) {
    Object.assign(this, { report, data });
    this.cards = element("div", { class: "cards wide", id: "fit-cards" });
    place.append(this.cards);
  }

  show(k) {
    const { curves, convergence, uniqueness } = this.data, { doc, lazy } = this.report;
    const what = convergence ? `Noise scale of ${doc.targets[k]}` : "Objective";
    const trace = lazy.place("drawing", () => [traceDrawing(curves, k, what)]);
    const cards = curves.length ? [card(`${what} after each sweep`, null, trace)] : [];
    if (convergence) cards.push(card("Convergence", null, convergenceTable(convergence), note(AGREEMENT)));
    else cards.push(card("Uniqueness of the factors", null, note(uniqueness)));
    this.cards.replaceChildren(...cards);
  }
}

const AGREEMENT =
  "R-hat compares chains with the same prior. Chains of a tensor model often settle at different noise levels; what " +
  "matters is that their predictions agree.";

function convergenceTable(metrics) {
  const rows = Object.entries(CONVERGENCE).filter(([name]) => metrics[name] !== undefined).map(([name, words]) => {
    const value = metrics[name] === null ? "–" : formatNumber(metrics[name], 3);
    return element("tr", {}, element("th", { scope: "row" }, words), element("td", { class: "number" }, value));
  });
  const caption = element("caption", { class: "hidden" }, "Convergence of the chains");
  return element("table", { class: "metrics" }, caption, element("tbody", {}, ...rows));
}

// A quantity after each sweep, on a logarithmic scale, with a line for each chain or start.
function traceDrawing(curves, k, what) {
  const { width, height, left, right, top, bottom } = { ...SQUARE, height: 250 };
  const lines = curves.map(({ sweeps, values }) => {
    const own = values[Math.min(k, values.length - 1)];
    return [sweeps, own.map((value) => Math.log10(Math.max(value, 1e-300)))];
  });
  const logs = lines.flatMap(([, values]) => values), last = Math.max(...lines.flatMap(([sweeps]) => sweeps));
  const x = scaleOf(1, Math.max(last, 2), left, width - right), y = scaleOf(Math.min(...logs), Math.max(...logs), height - bottom, top);
  const [low, high] = [10 ** y.low, 10 ** y.high];
  const powers = niceTicks(y.low, y.high, 4).filter(Number.isInteger).map((power) => 10 ** power);
  const ticks = high / low > 20 ? powers : niceTicks(low, high, 4).filter((tick) => tick > 0);
  return drawing(
    width, height, `${what} after each sweep, for ${curves.length} run${curves.length === 1 ? "" : "s"}.`,
    ...ticks.flatMap((tick) => [
      line(left, y(Math.log10(tick)), width - right, y(Math.log10(tick)), "grid"),
      label(left - 6, y(Math.log10(tick)) + 3.5, formatNumber(tick, 3), "end"),
    ]),
    ...niceTicks(x.low, x.high, 5).map((tick) => label(x(tick), height - bottom + 17, formatNumber(tick), "middle")),
    label((left + width - right) / 2, height - 8, "sweep", "middle", { class: "name" }),
    ...lines.map(([sweeps, values]) => drawn("path", { class: "trace", d: path(sweeps.map((sweep, i) => [x(sweep), y(values[i])])) })),
  );
}
