// The answer of the what-if panel for a classifier: the probability of each class with its interval, and Shapley values
// of the chosen class on the latent scale.

const MOST_CLASSES = 8; // that are shown at once: the most probable ones, and the chosen one

class ClassAnswer extends Answer {
  constructor({ model, doc, deviation }, changed) {
    super({ model, doc, deviation, observed: null }, changed);
    this.name = doc.name;
    this.chances = element("ol", { class: "bars chances", "aria-label": "Probability of each class" });
    this.headline.replaceChildren(
      element("p", { class: "what" }, "Likeliest class of ", element("span", {}, doc.name)),
      this.value,
      this.#interval(changed),
      this.chances,
      this.spoken,
    );
    this.headline.classList.toggle("tall", doc.targets.length > 3);
  }

  #interval(changed) {
    if (!this.model.sampled) return element("p", { class: "note" }, "A least-squares model has no intervals of its probabilities.");
    const list = coverageList(this.coverage, "Coverage of the intervals of the probabilities", (chosen) => changed((this.coverage = chosen)));
    return element("p", { class: "interval" }, list, " intervals over the posterior draws");
  }

  // The answer for class k: the probabilities of all classes, its latent value, and Shapley values of that.
  compute(k, predicted, shapley) {
    return { mean: predicted[k].mean, probabilities: this.model.probabilities(predicted, this.coverage), shapley };
  }

  show(k, cells, answer) {
    const { probabilities } = answer, label = this.targets[k], { sampled } = this.model;
    const likeliest = probabilities.reduce((best, { mean }, at) => (mean > probabilities[best].mean ? at : best), 0);
    this.value.textContent = shortened(this.targets[likeliest], 40);
    const { mean, lower, upper } = probabilities[likeliest], within = sampled ? `, ${Math.round(100 * this.coverage)} % interval ${chances(lower, upper)}` : "";
    this.speak(`Likeliest class of ${this.name}: ${this.targets[likeliest]}, probability ${chance(mean)}${within}`);
    this.#showChances(k, probabilities);
    this.why.heading.textContent = `Contribution of each predictor to ${label}`;
    this.why.show(this.model, k, cells, answer, formatterOf(this.deviation[k]), (average, sum) =>
      `Shapley values on the latent scale: the average latent value of ${label} is ${average}, and the bars add up to ` +
      `${sum}. The higher the latent value of a class relative to the others, the more probable it is. Exact for ` +
      "independent predictors.",
    );
  }

  // Bars of the classes in their order; of many, those that are most probable now.
  #showChances(k, probabilities) {
    const all = probabilities.map((_, at) => at);
    const ranked = [...all].sort((a, b) => probabilities[b].mean - probabilities[a].mean || a - b);
    const few = ranked.slice(0, MOST_CLASSES), shown = all.length <= MOST_CLASSES ? all : few.includes(k) ? few : [...few, k];
    const rest = all.filter((at) => !shown.includes(at)).reduce((sum, at) => sum + probabilities[at].mean, 0);
    const items = shown.map((at) => this.#bar(this.targets[at], probabilities[at], at === k));
    if (shown.length < all.length) items.push(this.#bar(`${all.length - shown.length} others`, { mean: rest, lower: rest, upper: rest }, false));
    this.chances.replaceChildren(...items);
  }

  #bar(label, { mean, lower, upper }, chosen) {
    const bar = element("span", { class: "fill positive" }), range = element("span", { class: "between", hidden: lower === upper });
    bar.style.width = `${100 * mean}%`;
    range.style.left = `${100 * lower}%`;
    range.style.width = `${100 * (upper - lower)}%`;
    const bounds = lower < upper ? element("span", { class: "bounds" }, chances(lower, upper)) : null;
    return element(
      "li", { "aria-current": chosen ? "true" : null },
      element("span", { class: "text", title: label }, element("span", { class: "name" }, label)),
      element("span", { class: "track", "aria-hidden": "true" }, bar, range),
      element("span", { class: "number" }, element("strong", {}, chance(mean)), bounds),
    );
  }
}

// A probability in per cent, with a decimal near zero and one.
function chance(p, unit = "\u00a0%") {
  const near = Math.min(p, 1 - p);
  if (near < 0.0005) return (p < 0.5 ? "<0.1" : ">99.9") + unit;
  return (100 * p).toFixed(near < 0.0095 ? 1 : 0) + unit;
}

const chances = (lower, upper) =>
  chance(lower) === chance(upper) ? chance(lower) : `${chance(lower, "")} to ${chance(upper)}`;
