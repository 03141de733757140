// What the model is, and how well it predicts.

const METRICS = {
  r2: ["R²", "share of the variance explained"],
  rmse: ["RMSE", "root mean squared error"],
  mae: ["MAE", "mean absolute error"],
  coverage: ["Coverage", "of 90\u00a0% predictive intervals"],
  accuracy: ["Accuracy", "of rows whose class is the likeliest"],
  balanced_accuracy: ["Balanced accuracy", "mean over the classes"],
  roc_auc: ["ROC AUC", "area under the ROC curve"],
  log_loss: ["Log loss", "mean of −log probability of the class seen"],
  brier: ["Brier score", "squared error of the probabilities, summed over classes"],
  calibration_error: ["Calibration error", "expected calibration error (ECE) of the likeliest class"],
};
const FEW_CLASSES = 6; // that are listed at once
const AS_SHARES = ["coverage", "accuracy", "balanced_accuracy", "calibration_error"];

registerSection("overview", { link: "Overview", create: (report, place, data) => new Overview(report, place, data) });

class Overview {
  constructor({ doc }, place, data) {
    this.data = data;
    const predictors = counted(doc.model.predictors.length, "predictor");
    const rows = counted(data.training_rows, "row");
    const what = doc.classes ? `classifier of ${doc.name} (${doc.targets.length} classes)` : `model of ${doc.name}`;
    const lead = `A low-rank tensor ${what} with ${predictors}, fitted to ${rows}.`;
    this.classes = doc.classes;
    this.tiles = element("dl", { class: doc.classes ? "tiles of-classes" : "tiles", id: "metrics" });
    const facts = data.facts.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]);
    const details = element("details", {}, element("summary", {}, "About the model"), element("dl", { class: "facts" }, ...facts));
    addEventListener("beforeprint", () => (details.open = true));
    const evidence = element("p", { class: "note", id: "evidence" }, this.#evidence());
    const frequencies = doc.classes ? frequencyTable(doc.targets, data.frequencies) : null;
    place.append(...[element("p", { class: "lead" }, lead), this.tiles, evidence, frequencies, details].filter(Boolean));
  }

  #evidence() {
    const { metrics, rows, held_out: pilot } = this.data;
    if (!metrics && pilot) {
      return (
        `Metrics on the ${counted(pilot.rows, "row")} that the fit held out to weigh its priors. No rows with targets were ` +
        "given to this report."
      );
    }
    if (!metrics) return "No rows with targets were given to this report, so there are no held-out metrics.";
    return (
      `Metrics on the ${counted(rows, "row")} given to this report. They show the performance on new rows ` +
      "only if the model was not trained on them."
    );
  }

  show(k) {
    const { metrics, noise, prediction_error: error, held_out: pilot } = this.data;
    const tiles = metrics ? metricTiles(metrics[Math.min(k, metrics.length - 1)]) : pilot ? pilotTiles(pilot) : [];
    if (!metrics && noise) tiles.push(tile("Noise", formatNumber(noise[k]), "estimated standard deviation of the observation noise"));
    if (!metrics && error !== null) {
      const deviation = this.classes ? "the standard deviation of the latent values" : "the target’s standard deviation";
      const words = `of ${deviation}: by how much predictions would change with other chains`;
      tiles.push(tile("Monte Carlo error", percent(error), words));
    }
    this.tiles.replaceChildren(...tiles);
  }
}

function metricTiles(metrics) {
  return Object.keys(METRICS).filter((name) => metrics[name]).map((name) => {
    const { value, low, high } = metrics[name], [title, words] = METRICS[name];
    const format = AS_SHARES.includes(name) ? formatShare : formatterOf(Math.abs(value));
    const show = (x) => (x === null ? "–" : format(x)), known = low !== null && high !== null;
    return tile(title, show(value), words, known ? `95\u00a0% confidence: ${show(low)} to ${show(high)}` : "");
  });
}

// Metrics without confidence intervals.
const pilotTiles = (found) => metricTiles(
  Object.fromEntries(Object.entries(found).map(([name, value]) => [name, { value, low: null, high: null }])),
);

// The classes and their shares of the training rows and, if there are any, of the rows of the report.
function frequencyTable(labels, frequencies) {
  const heads = ["Class", "Training rows", ...(frequencies[0].length > 1 ? ["Rows of this report"] : [])];
  const rows = labels.map((label, k) => {
    const cells = frequencies[k].map((share) => element("td", { class: "number" }, formatShare(share, 1)));
    return element("tr", {}, element("th", { scope: "row" }, label), ...cells);
  });
  const head = heads.map((words, at) => element("th", { scope: "col", class: at ? "number" : null }, words));
  const caption = element("caption", { class: "hidden" }, "Frequencies of the classes");
  const table = element("table", {}, caption, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
  const region = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Frequencies of the classes" }, table);
  const details = element("details", { id: "frequencies", open: labels.length <= FEW_CLASSES }, element("summary", {}, "Classes"), region);
  addEventListener("beforeprint", () => (details.open = true));
  return details;
}

function tile(title, value, words, more = "") {
  const lines = [element("strong", {}, value), element("span", {}, words), more ? element("span", {}, more) : null];
  return element("div", { class: "tile" }, element("dt", {}, title), element("dd", {}, ...lines));
}
