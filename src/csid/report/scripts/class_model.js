// A classifier: its outputs are latent values, one for each class, and every draw gives probabilities of the classes.
//
// Calibrated probabilities are proportional to a power of those of the likelihood. They are formed as in
// `csid.likelihoods.class_predictive`.

const LEAST_PROBABILITY = 1e-12;

class ClassModel extends Model {
  constructor(entries, outputs, arrays) {
    super(entries, outputs, arrays);
    this.exponent = entries.exponent;
    this.effects = new Map(); // by predictor and coverage, for all classes
    const nothing = this.tensor.product(this.tensor.means);
    this.average = this.#ofComponents(nothing, 0.9).map(({ mean }) => mean);
  }

  // The probability of each class, and its interval over the draws with this coverage.
  probabilities(predicted, coverage) {
    const { weights } = this.tensor;
    const latent = (d) => predicted.map(({ mean, deviations }) => mean + (deviations ? deviations[d] : 0));
    return this.#distribution(Array.from(this.sampled ? weights : [1], (_, d) => latent(d)), coverage);
  }

  // The probability of class k at each level of a predictor: at latent values that are averaged over the others.
  effect(n, k, coverage = 0.9) {
    const key = `${n} ${coverage}`;
    if (!this.effects.has(key)) {
      const others = this.tensor.others(n);
      const at = (level) => this.#ofComponents(this.tensor.product([others, this.tensor.row(n, [[level, 1]])]), coverage);
      this.effects.set(key, Array.from({ length: this.predictors[n].levels }, (_, level) => at(level)));
    }
    return this.effects.get(key).map((ofClasses) => ofClasses[k]);
  }

  effectName(label) {
    return `probability of ${label}`;
  }

  valueName(label) {
    return `latent value of ${label}`;
  }

  #ofComponents(components, coverage) {
    const values = this.tensor.V.map((_, k) => this.tensor.values(k, components));
    return this.#distribution(this.tensor.weights.map((_, d) => values.map((ofDraws) => ofDraws[d])), coverage);
  }

  // From the latent values of each draw to { mean, lower, upper } of each class.
  #distribution(latents, coverage) {
    const ofDraws = latents.map((values) => LIKELIHOOD.probabilities(values));
    const weights = ofDraws.length > 1 ? this.tensor.weights : [1];
    const mean = toPower(
      ofDraws[0].map((_, k) => ofDraws.reduce((sum, p, d) => sum + weights[d] * p[k], 0)),
      this.exponent,
    );
    if (!this.sampled) return mean.map((p) => ({ mean: p, lower: p, upper: p }));
    const calibrated = ofDraws.map((p) => toPower(p, this.exponent));
    return mean.map((p, k) => {
      const [lower, upper] = boundsOfDraws(calibrated.map((each) => each[k]), weights, coverage);
      return { mean: p, lower, upper };
    });
  }
}

// Probabilities raised to a power and normalised.
function toPower(probabilities, exponent) {
  const raised = Array.from(probabilities, (p) => Math.max(p, LEAST_PROBABILITY) ** exponent);
  const sum = raised.reduce((a, b) => a + b);
  return raised.map((each) => each / sum);
}

// The draws at which their cumulative weight reaches both ends of the central interval with this coverage.
function boundsOfDraws(values, weights, coverage) {
  const order = Array.from(values.keys()).sort((a, b) => values[a] - values[b]);
  const reached = [];
  order.forEach((d, i) => reached.push((i ? reached[i - 1] : 0) + weights[d]));
  return [0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage].map((level) => {
    const at = reached.findIndex((each) => each >= level - 1e-12);
    return values[order[at < 0 ? order.length - 1 : at]];
  });
}
