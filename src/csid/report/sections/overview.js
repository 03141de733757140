// What the model is, and how well it predicts.

const METRICS = {
  r2: ["R²", "share of the variance explained"],
  rmse: ["RMSE", "root mean squared error"],
  mae: ["MAE", "mean absolute error"],
  coverage: ["Coverage", "of 90\u00a0% predictive intervals"],
};

registerSection("overview", { link: "Overview", create: (report, place, data) => new Overview(report, place, data) });

class Overview {
  constructor({ doc }, place, data) {
    this.data = data;
    const predictors = counted(doc.model.predictors.length, "predictor");
    const rows = counted(data.training_rows, "row");
    const lead = `A low-rank tensor model of ${doc.targets.join(" and ")} with ${predictors}, fitted to ${rows}.`;
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
      `Metrics on the ${counted(rows, "row")} given to this report. They show the performance on new rows ` +
      "only if the model was not trained on them."
    );
  }

  show(k) {
    const { metrics, noise, prediction_error: error } = this.data, tiles = metrics ? metricTiles(metrics[k]) : [];
    if (!metrics && noise) tiles.push(tile("Noise", formatNumber(noise[k]), "estimated standard deviation of the observation noise"));
    if (!metrics && error !== null) {
      const words = "of the target’s standard deviation: by how much predictions would change with other chains";
      tiles.push(tile("Monte Carlo error", percent(error), words));
    }
    this.tiles.replaceChildren(...tiles);
  }
}

function metricTiles(metrics) {
  return Object.keys(METRICS).filter((name) => metrics[name]).map((name) => {
    const { value, low, high } = metrics[name], [title, words] = METRICS[name];
    const format = name === "coverage" ? formatShare : formatterOf(Math.abs(value));
    const show = (x) => (x === null ? "–" : format(x)), known = low !== null && high !== null;
    return tile(title, show(value), words, known ? `95\u00a0% confidence: ${show(low)} to ${show(high)}` : "");
  });
}

function tile(title, value, words, more = "") {
  const lines = [element("strong", {}, value), element("span", {}, words), more ? element("span", {}, more) : null];
  return element("div", { class: "tile" }, element("dt", {}, title), element("dd", {}, ...lines));
}
