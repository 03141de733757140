// The answer of the what-if panel: prediction, predictive interval and Shapley values.

const COVERAGES = [0.5, 0.8, 0.9, 0.95, 0.99];
const QUIET = 400; // milliseconds without a change before screen readers announce the answer

class Answer {
  constructor({ model, doc: { targets }, deviation, observed }, changed) {
    Object.assign(this, { model, targets, deviation, coverage: 0.9 });
    this.target = element("span");
    this.value = element("div", { class: "value", id: "prediction" });
    this.strip = new Strip(model.mean, deviation, observed);
    this.spoken = element("p", { class: "hidden", "aria-live": "polite", id: "spoken" });
    this.why = new Contributions();
    const what = element("p", { class: "what" }, "Predicted ", this.target);
    this.headline = element("div", { class: "card headline" }, what, this.value, this.#interval(changed), this.strip.node, this.spoken);
    this.node = element("div", { class: "answer" }, this.headline, this.why.node);
  }

  #interval(changed) {
    this.bounds = element("span", { id: "interval" });
    if (!this.model.sampled) return element("p", { class: "note" }, "A least-squares model has no predictive intervals.");
    const list = coverageList(this.coverage, "Coverage of the predictive interval", (chosen) => changed((this.coverage = chosen)));
    return element("p", { class: "interval" }, list, " predictive interval: ", this.bounds);
  }

  // The answer for output k.
  compute(k, predicted, shapley) {
    const { model } = this, { mean } = predicted[k];
    return { mean, interval: model.sampled ? model.interval(k, predicted[k], this.coverage) : null, shapley };
  }

  // Show a prediction of output k, its interval if it has one, and Shapley values.
  show(k, cells, answer) {
    const { mean, interval } = answer, target = this.targets[k], format = formatterOf(this.deviation[k]);
    const bounds = interval ? interval.map(format).join(" to ") : "";
    this.target.textContent = target;
    this.value.textContent = format(mean);
    this.bounds.textContent = bounds;
    const words = interval ? `, ${Math.round(100 * this.coverage)} % predictive interval ${bounds}` : "";
    this.speak(`Predicted ${target}: ${format(mean)}${words}`);
    this.strip.show(k, mean, interval || [mean, mean], format);
    this.why.show(this.model, k, cells, answer, format, (average, sum) =>
      `Shapley values: the average prediction is ${average}, and the bars add up to ${sum}. Exact for independent predictors.`,
    );
  }

  // Have screen readers announce the answer when it no longer changes.
  speak(words) {
    clearTimeout(this.speaking);
    this.speaking = setTimeout(() => (this.spoken.textContent = words), QUIET);
  }
}

// A list of coverages.
function coverageList(coverage, words, choose) {
  const options = COVERAGES.map((c) => element("option", { value: c, selected: c === coverage }, `${Math.round(100 * c)} %`));
  const list = element("select", { id: "coverage", "aria-label": words, on: { change: () => choose(Number(list.value)) } }, ...options);
  return list;
}
