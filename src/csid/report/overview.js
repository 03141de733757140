// What the model is, and how good.

const FIGURES = {
  r2: ["R²", "share of the variance explained"],
  rmse: ["RMSE", "root mean square error"],
  mae: ["MAE", "mean absolute error"],
  coverage: ["Coverage", "of 90 % intervals"],
};

function showFacts(told) {
  byId("facts").append(...told.facts.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]));
  byId("lead").textContent =
    `How ${told.targets.join(" and ")} ${told.targets.length > 1 ? "depend" : "depends"} on ` +
    `${told.model.predictors.length} predictors, learnt as a low-rank tensor with one smooth curve per predictor ` +
    "and component.";
}

function showFigures(told, k) {
  byId("figures").replaceChildren(...(told.evidence ? heldOut(told.evidence.outputs[k].figures) : ownAccount(told.fit, k)));
  byId("evidence").textContent = told.evidence
    ? `Measured on the ${told.evidence.rows.toLocaleString("en-US")} rows that were given for this report. They say ` +
      "how good the model is on new rows only if it has not seen them in training."
    : "No rows were given with this report, so there are no held-out figures here: nothing on this page says how good " +
      "the model is on new rows.";
}

function heldOut(figures) {
  return Object.keys(FIGURES).filter((name) => figures[name]).map((name) => {
    const { value, low, high } = figures[name], [title, words] = FIGURES[name];
    const show = (x) => (x === null ? "–" : name === "coverage" ? formatShare(x) : formatNumber(x));
    return tile(title, show(value), words, `95 % sure: ${show(low)} to ${show(high)}`);
  });
}

function ownAccount({ noise, figures }, k) {
  if (!noise) return [];
  return [
    tile("Noise", formatNumber(noise[k]), "scale of what the model cannot tell, by its own account"),
    tile("R-hat", formatNumber(figures.prediction_rhat ?? NaN, 3), "of predictions; near 1 when chains agree"),
  ];
}

function tile(title, value, words, more = "") {
  const said = [element("strong", {}, value), element("span", {}, words), element("span", { class: "sure" }, more)];
  return element("div", { class: "tile" }, element("dt", {}, title), element("dd", {}, ...said));
}
