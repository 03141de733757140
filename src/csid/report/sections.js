// Sections of drawings for the chosen output.

const card = (heading, share, ...children) => {
  const words = share === null ? [] : [element("span", { class: "share" }, formatShare(share))];
  return element("article", { class: "card" }, element("h3", {}, heading, ...words), ...children);
};

const note = (text) => element("p", { class: "note" }, text);

// Predictors by their share in all for an output, the largest first.
function byShare(told, k) {
  const { total } = told.shares;
  return total.map((_, n) => n).sort((a, b) => total[b][k] - total[a][k] || a - b);
}

function showEffects(model, told, k, lazy) {
  const order = byShare(told, k), target = told.targets[k];
  let common = null;
  if (byId("same-scale").checked) {
    const ranges = order.map((n) => rangeOf(model.effect(n, k), model.mean[k]));
    common = [Math.min(...ranges.map(([low]) => low)), Math.max(...ranges.map(([, high]) => high))];
  }
  const cards = order.map((n) => {
    const make = () => [effectDrawing(model, n, k, target, common), note(missingWords(model, n, k))];
    const made = card(model.predictors[n].name, told.shares.total[n][k], lazy.place("drawing", make));
    made.id = `effect-${n}`;
    return made;
  });
  byId("effect-cards").replaceChildren(...cards);
}

function showPairs(model, told, k, lazy) {
  const pairs = told.shares.strongest[k], beyond = byId("beyond").checked;
  const cards = pairs.map(([i, n, share]) => {
    const heading = `${model.predictors[i].name} × ${model.predictors[n].name}`;
    return card(heading, share, lazy.place("drawing tall", () => [pairDrawing(model, i, n, k, told.targets[k], beyond)]));
  });
  byId("pair-cards").replaceChildren(...cards);
  byId("pair-note").hidden = pairs.length > 0;
}

const PARTS = { main: "single predictors", pairs: "pairs beyond them", higher: "three or more together" };

function showAdditivity(told, k) {
  const shares = Object.keys(PARTS).map((name) => Math.min(1, Math.max(0, told.shares[name][k][0])));
  const words = Object.values(PARTS).map((each, i) => `${each} ${formatShare(shares[i])}`);
  const strips = Object.keys(PARTS).map((name) => element("span", { class: name }));
  strips.forEach((strip, i) => (strip.style.flexGrow = shares[i]));
  const keys = Object.entries(PARTS).map(([name, each], i) => {
    const key = element("span", { class: `key ${name}`, "aria-hidden": "true" });
    return element("li", {}, key, `${each} `, element("strong", {}, formatShare(shares[i])));
  });
  byId("additivity").replaceChildren(
    element("div", { class: "parts", role: "img", "aria-label": words.join(", ") }, ...strips),
    element("ul", { class: "legend" }, ...keys),
  );
}

function showCalibration(told, k, lazy) {
  if (!told.evidence) return;
  const { calibration, points } = told.evidence.outputs[k], target = told.targets[k];
  const seen = () => [
    truthDrawing(points, target),
    note(`${points.length} of the rows given; on the line a prediction is right.`),
  ];
  const calibrated = () => [
    calibrationDrawing(calibration, told.evidence.rows, target),
    note("How many rows lie below each predicted quantile. Inside the band the gaps are what chance alone would give."),
  ];
  const cards = [card("Predictions beside the truth", null, lazy.place("drawing tall", seen))];
  if (calibration) cards.push(card("Calibration", null, lazy.place("drawing tall", calibrated)));
  byId("calibration-cards").replaceChildren(...cards);
}

const CONVERGENCE = {
  prediction_rhat: "R-hat of predictions (near 1: chains agree)",
  noise_rhat: "R-hat of the noise",
  smoothness_rhat: "R-hat of the smoothness",
  prediction_effective_draws: "Independent draws that predictions are worth",
  prediction_error: "Monte Carlo error of predictions, in standard deviations of the target",
  drift: "Drift of the noise over the kept sweeps, likewise",
};

function showFit(told, k, lazy) {
  const { figures, curves, text } = told.fit, bayesian = Object.keys(figures).length > 0;
  const what = bayesian ? `Scale of the noise in ${told.targets[k]}` : "Objective";
  const course = card(`${what} after every sweep`, null, lazy.place("drawing", () => [courseDrawing(curves, k, what)]));
  const words =
    text ||
    "R-hats compare the chains of one prior. Chains of a tensor often settle on different noise; what counts is that " +
      "their predictions agree.";
  const heading = bayesian ? "Have the chains forgotten their starts?" : "Are the factors unique?";
  byId("fit-story").replaceChildren(course, card(heading, null, ...(bayesian ? [figuresTable(figures)] : []), note(words)));
}

function figuresTable(figures) {
  const rows = Object.entries(CONVERGENCE).filter(([name]) => figures[name] !== undefined).map(([name, words]) => {
    const value = figures[name] === null ? "–" : formatNumber(figures[name], 3);
    return element("tr", {}, element("th", { scope: "row" }, words), element("td", { class: "number" }, value));
  });
  const caption = element("caption", { class: "hidden" }, "Convergence of the chains");
  return element("table", { class: "figures" }, caption, element("tbody", {}, ...rows));
}
