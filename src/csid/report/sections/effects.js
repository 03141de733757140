// The effect of each predictor on the mean prediction.

const MOST_EFFECTS = 12;
const EFFECT_ON_MEAN =
  "Mean prediction as one predictor varies, averaged over the distributions of the others (partial dependence). ";

const effectOnProbability = (model) =>
  "Probability of the class as one predictor varies. The latent values are averaged over the distributions of the other " +
  "predictors (partial dependence), and then turned into probabilities" +
  (model.sampled ? ", which are averaged over the posterior draws" : "") +
  ". The probability at average latent values is usually more extreme than the average probability. ";

registerSection("effects", {
  link: "Effects",
  title: "Effect of each predictor",
  text: ({ model, doc }) =>
    (doc.classes ? effectOnProbability(model) : EFFECT_ON_MEAN) +
    (model.sampled ? "The band shows the model uncertainty: it holds 90\u00a0% of the posterior draws. " : "") +
    "Grey bars show the distribution of the predictor, the dashed line the " +
    (doc.classes ? "probability at the average latent values. " : "average prediction. ") +
    `The percentage of a predictor is its total Sobol index${doc.classes ? ", on the latent scale" : ""}.`,
  create: (report, place) => new Effects(report, place),
});

class Effects {
  constructor(report, place) {
    Object.assign(this, { report, all: false });
    const [box, toolbar] = checkBox("same-scale", "Same scale for all", () => this.show());
    this.sameScale = box;
    toolbar.hidden = report.model.predictors.length < 2;
    this.missing = note("");
    this.cards = element("div", { class: "cards", id: "effect-cards" });
    this.more = element("button", { type: "button", class: "quiet more", on: { click: () => this.show(this.k, !this.all) } });
    place.append(toolbar, this.cards, this.missing, this.more);
    addEventListener("hashchange", () => this.#showLinked());
  }

  // Show output k, and all predictors or those that matter most.
  show(k = this.k, all = this.all) {
    Object.assign(this, { k, all });
    const { model, doc, lazy } = this.report, order = byImportance(doc, k), many = order.length > MOST_EFFECTS;
    const common = this.sameScale.checked ? this.#commonScale() : null;
    const plotted = { model, targets: doc.targets };
    const cards = (all ? order : order.slice(0, MOST_EFFECTS)).map((n) => {
      const make = (size) => effectPlot(plotted, n, k, common, size);
      const made = card(model.predictors[n].name, doc.sobol.total[n][k], lazy.place("drawing", make));
      made.id = `effect-${n}`;
      return made;
    });
    this.cards.replaceChildren(...cards);
    this.missing.textContent = missingWords(this.report, k);
    this.more.hidden = !many;
    this.more.textContent = all ? "Show the most important only" : `Show all ${order.length} effects`;
  }

  // A link to the effect of a predictor that is not shown.
  #showLinked() {
    if (!location.hash.startsWith("#effect-") || byId(location.hash.slice(1))) return;
    this.show(this.k, true);
    byId(location.hash.slice(1))?.scrollIntoView();
  }

  #commonScale() {
    const { model } = this.report;
    const ranges = model.predictors.map((_, n) => rangeOf(model.effect(n, this.k), model.average[this.k]));
    return [Math.min(...ranges.map(([low]) => low)), Math.max(...ranges.map(([, high]) => high))];
  }
}

// The prediction with missing cells, once for all predictors without a level for them.
function missingWords({ model, doc }, k) {
  const own = model.predictors.filter((predictor) => predictor.own_missing).length;
  const levels = "Missing cells have a level of their own where it is shown in violet. ";
  if (own === model.predictors.length) return levels;
  const which = own ? "any other missing cell" : "a missing cell", start = own ? levels : "";
  if (doc.classes && model.sampled) return `${start}With ${which}, each posterior draw imputes it.`;
  const how = model.classes?.conditional ? "over the values that it may have given the other cells" : "over the distribution of its predictor";
  const what = doc.classes ? "the latent value" : "the prediction";
  return `${start}With ${which}, ${what} is averaged ${how}; with all cells missing, it is ${formatNumber(model.mean[k])}.`;
}
