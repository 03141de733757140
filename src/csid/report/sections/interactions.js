// How much of the variance is due to interactions, and the joint effects of the strongest pairs.

registerSection("interactions", {
  link: "Interactions",
  title: "Interactions",
  text: ({ doc }) =>
    `Decomposition of the variance of the ${varying(doc)}, for independent predictors. An additive model would have ` +
    "main effects only.",
  create: (report, place, data) => new Interactions(report, place, data),
});

const ORDERS = { main: "main effects", pairs: "pairwise interactions", higher: "higher-order interactions" };

class Interactions {
  constructor(report, place, data) {
    Object.assign(this, { report, data });
    const [box, toolbar] = checkBox("interaction-only", "Interaction only, without the main effects", () => this.show());
    this.interactionOnly = box;
    this.decomposition = element("div", { class: "card", id: "decomposition" });
    this.cards = element("div", { class: "cards", id: "pair-cards" });
    this.toolbar = toolbar;
    this.left = note("");
    place.append(this.decomposition, element("h3", { class: "apart" }, "Strongest pairs"), toolbar, this.cards, this.left);
  }

  show(k = this.k) {
    this.k = k;
    const { model, doc, lazy } = this.report, only = this.interactionOnly.checked, { most, least } = this.data;
    const pairs = this.data.strongest[k], limit = `${100 * least}\u00a0%`;
    this.#showDecomposition(k);
    const plotted = { model, targets: doc.targets };
    const cards = pairs.map(([i, n, share]) => {
      const heading = `${model.predictors[i].name} × ${model.predictors[n].name}`;
      return card(heading, share, lazy.place("drawing tall", (size) => pairPlot(plotted, i, n, k, only, size)));
    });
    this.cards.replaceChildren(...cards);
    this.toolbar.hidden = pairs.length === 0;
    const omitted = `Pairs whose interaction is below ${limit} of the variance are left out.`;
    const none = `No pair of predictors has an interaction of ${limit} of the variance or more.`;
    this.left.textContent = pairs.length === most ? `The ${most} strongest pairs. ${omitted}` : pairs.length ? omitted : none;
  }

  #showDecomposition(k) {
    const parts = Object.entries(ORDERS).map(([name, words]) => ({ name, words, share: Math.min(1, Math.max(0, this.data[name][k][0])) }));
    const label = parts.map(({ words, share }) => `${words} ${formatShare(share)}`).join(", ");
    const strips = parts.map(({ name, share }) => {
      const strip = element("span", { class: name });
      strip.style.flexGrow = share;
      return strip;
    });
    const keys = parts.map(({ name, words, share }) => {
      const key = element("span", { class: `key ${name}`, "aria-hidden": "true" });
      return element("li", {}, key, `${words} `, element("strong", {}, formatShare(share)));
    });
    this.decomposition.replaceChildren(
      element("div", { class: "parts", role: "img", "aria-label": label }, ...strips),
      element("ul", { class: "legend" }, ...keys),
    );
  }
}
