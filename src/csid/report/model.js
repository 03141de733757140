// The model: predictions, intervals, explanations and effects, as in Python.

class Model {
  constructor(told, outputs, arrays) {
    this.predictors = told.predictors.map((predictor) => new Predictor(predictor, arrays));
    this.outputs = outputs;
    this.tensor = new Tensor(told.groups, this.predictors, outputs, arrays);
    this.classes = told.classes && new Classes(told.classes, this.tensor, arrays);
    if (told.posterior) {
      const { noise, knots, logs, heavy_tails } = told.posterior;
      this.posterior = {
        noise: heavy_tails ? STUDENT4 : NORMAL,
        scales: arrays.rows(noise, this.tensor.shares.length),
        knots: arrays.rows(knots, outputs),
        logs: arrays.rows(logs, outputs),
      };
    }
    const nothing = this.tensor.product(this.tensor.means);
    this.mean = this.tensor.W.map((_, k) => this.tensor.mean(k, nothing));
  }

  row(n, cell) {
    return this.tensor.row(n, this.predictors[n].parts(cell));
  }

  rows(cells) {
    return cells.map((cell, n) => this.row(n, cell));
  }

  // Predictions of all outputs, and the values of the draws around them.
  predict(cells, rows = this.rows(cells)) {
    const { tensor } = this;
    const levels = cells.map((cell, n) => this.predictors[n].nearest(cell));
    const joint = this.classes && levels.includes(null);
    const { expected, completed } = joint ? this.classes.components(rows, levels) : {};
    const components = expected || tensor.product(rows);
    return tensor.W.map((_, k) => {
      const mean = tensor.mean(k, components);
      if (!this.posterior) return { mean };
      const centres = tensor.values(k, completed || components);
      const shift = mean - centres.reduce((sum, centre, d) => sum + tensor.shares[d] * centre, 0);
      return { mean, deviations: centres.map((centre) => centre + shift - mean) };
    });
  }

  // Bounds between which a new observation falls with this probability.
  interval(k, { mean, deviations }, coverage) {
    const { noise, scales, knots, logs } = this.posterior;
    const own = scales.map((scale) => scale[k]);
    const factor = Math.exp(interpolated(mean, knots[k], logs[k]));
    return [0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage].map(
      (q) => mean + factor * quantile(q, deviations, own, this.tensor.shares, noise),
    );
  }

  shapley(rows) {
    return shapleyValues(this.tensor, rows);
  }

  // The mean prediction at each level of a predictor, the others averaged over; with draws, the bounds of a band.
  effect(n, k, coverage = 0.9) {
    const others = this.tensor.others(n);
    const at = (parts) => {
      const components = this.tensor.product([others, this.tensor.row(n, parts)]);
      const mean = this.tensor.mean(k, components);
      if (!this.posterior) return { mean, lower: mean, upper: mean };
      const [lower, upper] = middleOfDraws(this.tensor.values(k, components), this.tensor.shares, coverage);
      return { mean, lower, upper };
    };
    return Array.from({ length: this.predictors[n].levels }, (_, level) => at([[level, 1]]));
  }

  // The mean prediction at a cell of one predictor, the others averaged over.
  alone(n, cell, k) {
    return this.tensor.mean(k, this.tensor.product([this.tensor.others(n), this.row(n, cell)]));
  }

  // The mean prediction at cells of two predictors, those of the first by those of the second.
  surface(i, n, firsts, seconds, k) {
    const others = this.tensor.others(i, n), weights = this.tensor.W[k];
    const columns = seconds.map((cell) => this.row(n, cell));
    return firsts.map((cell) => {
      const row = this.row(i, cell).map((a, r) => a * others[r] * weights[r]);
      return columns.map((column) => column.reduce((sum, b, r) => sum + row[r] * b, this.tensor.bias[k]));
    });
  }
}
