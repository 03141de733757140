// The model: predictions, intervals, explanations and effects, as in Python.

class Model {
  constructor(entries, outputs, arrays) {
    this.predictors = entries.predictors.map((predictor) => new Predictor(predictor, arrays));
    this.outputs = outputs;
    this.tensor = new Tensor(entries.groups, this.predictors, outputs, arrays);
    this.classes = entries.classes && new Classes(entries.classes, this.tensor, arrays);
    this.sampled = entries.sampled; // whether there are posterior draws
    if (entries.noise) {
      const { scales, knots, log_factors } = entries.noise;
      this.noise = {
        scales: arrays.rows(scales, this.tensor.weights.length),
        knots: arrays.rows(knots, outputs),
        logFactors: arrays.rows(log_factors, outputs),
      };
    }
    const nothing = this.tensor.product(this.tensor.means);
    this.mean = this.tensor.W.map((_, k) => this.tensor.mean(k, nothing)); // of the values of the tensor
    this.average = this.mean; // of what effects are of
  }

  row(n, cell) {
    return this.tensor.row(n, this.predictors[n].parts(cell));
  }

  rows(cells) {
    return cells.map((cell, n) => this.row(n, cell));
  }

  // Predictions of all outputs, and the deviations of the draws from them.
  predict(cells, rows = this.rows(cells)) {
    const { tensor } = this;
    const levels = cells.map((cell, n) => this.predictors[n].nearest(cell));
    const incomplete = this.classes && levels.includes(null);
    const { expected, completed } = incomplete ? this.classes.components(rows, levels) : {};
    const components = expected || tensor.product(rows);
    return tensor.W.map((_, k) => {
      const mean = tensor.mean(k, components);
      if (!this.sampled) return { mean };
      const centres = tensor.values(k, completed || components);
      const own = centres.reduce((sum, centre, d) => sum + tensor.weights[d] * centre, 0);
      const factor = incomplete ? this.classes.factors[k] : 1;
      return { mean, deviations: centres.map((centre) => factor * (centre - own)) };
    });
  }

  // The predictive interval with this coverage.
  interval(k, { mean, deviations }, coverage) {
    const { scales, knots, logFactors } = this.noise;
    const factor = Math.exp(interpolated(mean, knots[k], logFactors[k]));
    const mixture = { centres: deviations, scales: scales.map((scale) => scale[k]), weights: this.tensor.weights, noise: LIKELIHOOD };
    return [0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage].map((q) => mean + factor * quantile(q, mixture));
  }

  shapley(rows) {
    return shapleyValues(this.tensor, rows);
  }

  // The mean prediction at each level of a predictor, averaged over the others, and a band of the draws.
  effect(n, k, coverage = 0.9) {
    const others = this.tensor.others(n);
    const at = (parts) => {
      const components = this.tensor.product([others, this.tensor.row(n, parts)]);
      const mean = this.tensor.mean(k, components);
      if (!this.sampled) return { mean, lower: mean, upper: mean };
      const [lower, upper] = intervalOfDraws(this.tensor.values(k, components), this.tensor.weights, coverage);
      return { mean, lower, upper };
    };
    return Array.from({ length: this.predictors[n].levels }, (_, level) => at([[level, 1]]));
  }

  // What effects are of, and what the tensor predicts, for a target.
  effectName(target) {
    return `mean ${target}`;
  }

  valueName(target) {
    return target;
  }

  // The mean prediction at a cell of one predictor, averaged over the others.
  alone(n, cell, k) {
    return this.tensor.mean(k, this.tensor.product([this.tensor.others(n), this.row(n, cell)]));
  }

  // The mean prediction at each cell of predictor i and each cell of predictor n, averaged over the others.
  surface(i, n, firsts, seconds, k) {
    const others = this.tensor.others(i, n), weights = this.tensor.W[k];
    const columns = seconds.map((cell) => this.row(n, cell));
    return firsts.map((cell) => {
      const row = this.row(i, cell).map((a, r) => a * others[r] * weights[r]);
      return columns.map((column) => column.reduce((sum, b, r) => sum + row[r] * b, this.tensor.bias[k]));
    });
  }
}
