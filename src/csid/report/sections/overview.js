// What the model is, and how well it predicts.

const METRICS = {
  r2: ["R²", "share of the variance explained"],
  rmse: ["RMSE", "root mean squared error"],
  mae: ["MAE", "mean absolute error"],
  coverage: ["Coverage", "of 90 % predictive intervals"],
};

registerSection("overview", { link: "Overview", create: (report, place, data) => new Overview(report, place, data) });

class Overview {
  constructor({ doc }, place, data) {
    this.data = data;
    const predictors = `${doc.model.predictors.length} predictor${doc.model.predictors.length === 1 ? "" : "s"}`;
    const lead =
      `A model of ${doc.targets.join(" and ")} with ${predictors}: a low-rank tensor, with one smooth curve per ` +
      "predictor and component.";
    this.tiles = element("dl", { class: "tiles", id: "metrics" });
    const facts = data.facts.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]);
    const details = element("details", {}, element("summary", {}, "About the model"), element("dl", { class: "facts" }, ...facts));
    addEventListener("beforeprint", () => (details.open = true));
    const evidence = element("p", { class: "note", id: "evidence" }, this.#evidence());
    place.append(element("p", { class: "lead" }, lead), this.tiles, evidence, details);
  }

  #evidence() {
    const { metrics, rows } = this.data;
    if (!metrics) return "No rows with targets were given to this report, so there are no held-out metrics.";
    return (
      `Metrics on the ${rows.toLocaleString("en-US")} rows given to this report. They show the performance on new rows ` +
      "only if the model was not trained on these rows."
    );
  }

  show(k) {
    const { metrics, noise, prediction_rhat: rhat } = this.data, tiles = metrics ? metricTiles(metrics[k]) : [];
    if (!metrics && noise) tiles.push(tile("Noise", formatNumber(noise[k]), "estimated standard deviation of the observation noise"));
    if (!metrics && rhat !== null) tiles.push(tile("R-hat", formatNumber(rhat, 3), "of the predictions; near 1 if the chains agree"));
    this.tiles.replaceChildren(...tiles);
  }
}

function metricTiles(metrics) {
  return Object.keys(METRICS).filter((name) => metrics[name]).map((name) => {
    const { value, low, high } = metrics[name], [title, words] = METRICS[name];
    const show = (x) => (x === null ? "–" : name === "coverage" ? formatShare(x) : formatNumber(x));
    return tile(title, show(value), words, `95 % confidence: ${show(low)} to ${show(high)}`);
  });
}

function tile(title, value, words, more = "") {
  const lines = [element("strong", {}, value), element("span", {}, words), element("span", {}, more)];
  return element("div", { class: "tile" }, element("dt", {}, title), element("dd", {}, ...lines));
}
