// The Shapley values of a prediction as a card: bars, and what they add up to.

class Contributions {
  constructor() {
    this.heading = element("h3", {}, "Contribution of each predictor");
    this.bars = element("ol", { class: "bars", "aria-label": "Contribution of each predictor: exact Shapley values" });
    this.sum = element("p", { class: "note" });
    this.node = element("div", { class: "card why" }, this.heading, this.bars, this.sum);
  }

  // Show the values of output k at a prediction `mean`; `words` tells what the average and the sum are.
  show(model, k, cells, { mean, shapley }, format, words) {
    const average = model.mean[k], rest = mean - average - shapley.reduce((a, b) => a + b, 0);
    const imputed = model.classes?.conditional && Math.abs(rest) > 1e-9 * Math.abs(mean) ? rest : 0;
    showBars(this.bars, shapleyLines(model, cells, shapley, imputed), format);
    this.sum.textContent = words(format(average), signed(mean - average, format));
  }
}
