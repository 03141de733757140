// The effect of each predictor on the mean prediction.

registerSection("effects", {
  link: "Effects",
  title: "Effect of each predictor",
  text: ({ model }) =>
    "Mean prediction as one predictor varies, averaged over the distributions of the others (partial dependence). " +
    (model.posterior ? "The band holds 90 % of the posterior draws. " : "") +
    "Grey bars show the distribution of the predictor, the dashed line the average prediction.",
  create: (report, place) => new Effects(report, place),
});

class Effects {
  constructor(report, place) {
    this.report = report;
    const [box, toolbar] = checkBox("same-scale", "Same scale for all", () => this.show());
    this.sameScale = box;
    this.cards = element("div", { class: "cards", id: "effect-cards" });
    place.append(toolbar, this.cards);
  }

  show(k = this.k) {
    this.k = k;
    const { model, doc, lazy } = this.report, order = byImportance(doc, k), target = doc.targets[k];
    const common = this.sameScale.checked ? this.#commonScale() : null;
    const cards = order.map((n) => {
      const make = () => [effectDrawing(model, n, k, target, common), note(missingWords(model, n, k))];
      const made = card(model.predictors[n].name, doc.sobol.total[n][k], lazy.place("drawing", make));
      made.id = `effect-${n}`;
      return made;
    });
    this.cards.replaceChildren(...cards);
  }

  #commonScale() {
    const { model } = this.report;
    const ranges = model.predictors.map((_, n) => rangeOf(model.effect(n, this.k), model.mean[this.k]));
    return [Math.min(...ranges.map(([low]) => low)), Math.max(...ranges.map(([, high]) => high))];
  }
}
