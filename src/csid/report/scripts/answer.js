// The answer of the what-if panel: prediction, predictive interval and Shapley values.

const COVERAGES = [0.5, 0.8, 0.9, 0.95, 0.99];
const QUIET = 400; // milliseconds without a change before screen readers announce the answer

class Answer {
  constructor({ model, targets, deviation, observed }, changed) {
    Object.assign(this, { model, targets, deviation, coverage: 0.9 });
    this.target = element("span");
    this.value = element("div", { class: "value", id: "prediction" });
    this.strip = new Strip(model.mean, deviation, observed);
    this.spoken = element("p", { class: "hidden", "aria-live": "polite", id: "spoken" });
    this.bars = element("ol", { class: "bars", "aria-label": "Contribution of each predictor: exact Shapley values" });
    this.sum = element("p", { class: "note" });
    const what = element("p", { class: "what" }, "Predicted ", this.target);
    this.headline = element("div", { class: "card headline" }, what, this.value, this.#interval(changed), this.strip.node, this.spoken);
    this.why = element("div", { class: "card why" }, element("h3", {}, "Contribution of each predictor"), this.bars, this.sum);
    this.node = element("div", { class: "answer" }, this.headline, this.why);
  }

  #interval(changed) {
    this.bounds = element("span", { id: "interval" });
    if (!this.model.posterior) return element("p", { class: "note" }, "A least-squares model has no predictive intervals.");
    const choose = () => changed((this.coverage = Number(list.value)));
    const options = COVERAGES.map((c) => element("option", { value: c, selected: c === this.coverage }, `${Math.round(100 * c)} %`));
    const list = element("select", { id: "coverage", "aria-label": "Coverage of the predictive interval", on: { change: choose } }, ...options);
    return element("p", { class: "interval" }, list, " predictive interval: ", this.bounds);
  }

  // Show a prediction of output k, its interval if it has one, and Shapley values.
  show(k, cells, { mean, interval, shapley }) {
    const { model } = this, target = this.targets[k], average = model.mean[k], format = formatterOf(this.deviation[k]);
    const bounds = interval ? interval.map(format).join(" to ") : "";
    this.target.textContent = target;
    this.value.textContent = format(mean);
    this.bounds.textContent = bounds;
    clearTimeout(this.speaking);
    const words = interval ? `, ${Math.round(100 * this.coverage)} % predictive interval ${bounds}` : "";
    this.speaking = setTimeout(() => (this.spoken.textContent = `Predicted ${target}: ${format(mean)}${words}`), QUIET);
    this.strip.show(k, mean, interval || [mean, mean], format);
    const rest = mean - average - shapley.reduce((a, b) => a + b, 0);
    showBars(this.bars, shapleyLines(model, cells, shapley, model.classes?.conditional && Math.abs(rest) > 1e-9 * Math.abs(mean) ? rest : 0), format);
    this.sum.textContent =
      `Shapley values: the average prediction is ${format(average)}, and the bars add up to ` +
      `${signed(mean - average, format)}. Exact for independent predictors.`;
  }
}
