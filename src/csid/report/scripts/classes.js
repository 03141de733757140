// Missing and unseen cells under a PMF of the predictors, which is a mixture of latent classes.

class Classes {
  constructor(entries, tensor, arrays) {
    this.tensor = tensor;
    this.conditional = entries.conditional; // whether predictions use the classes, or only intervals
    this.least = entries.least;
    this.factors = arrays.doubles(entries.imputation_factor);
    this.quantiles = arrays.doubles(entries.quantiles);
    this.logWeights = Array.from(arrays.doubles(entries.weights), Math.log);
    const count = this.logWeights.length;
    this.modes = entries.predictors.map(({ bins, lifts, drawn }, n) => ({
      n,
      bins: arrays.doubles(bins),
      lifts: arrays.rows(lifts, lifts[1] / count),
      drawn: this.quantiles.length ? arrays.rows(drawn, this.quantiles.length) : [],
      means: new Map(),
    }));
  }

  // Probabilities of the classes given the nearest levels of the observed cells.
  probabilities(levels) {
    const scores = Float64Array.from(this.logWeights);
    for (const { n, bins, lifts } of this.modes) {
      if (levels[n] !== null) lifts[bins[levels[n]]].forEach((lift, c) => (scores[c] += Math.log(lift)));
    }
    const largest = Math.max(...scores);
    const likelihoods = scores.map((score) => Math.exp(score - largest));
    const total = likelihoods.reduce((a, b) => a + b, 0);
    return likelihoods.map((likelihood) => likelihood / total);
  }

  // The row of a factor for a missing cell in a row of class c.
  mean(mode, c) {
    if (!mode.means.has(c)) {
      const { marginal } = this.tensor.predictors[mode.n];
      const masses = Array.from(marginal, (p, level) => p * mode.lifts[mode.bins[level]][c]);
      const mass = masses.reduce((a, b) => a + b, 0);
      mode.means.set(c, this.tensor.row(mode.n, masses.map((each, level) => [level, each / mass])));
    }
    return mode.means.get(c);
  }

  // Products of rows: expected given the observed cells, and with the missing cells imputed in each draw.
  components(rows, levels) {
    const observed = this.tensor.product(rows.filter((_, n) => levels[n] !== null));
    const missing = this.modes.filter(({ n }) => levels[n] === null);
    const probabilities = this.probabilities(levels);
    return {
      expected: this.conditional ? this.#expected(observed, missing, probabilities) : this.tensor.product(rows),
      completed: this.#completed(observed, missing, probabilities),
    };
  }

  #expected(observed, missing, probabilities) {
    const expected = new Float64Array(observed.length);
    const kept = probabilities.map((p) => (p >= this.least ? p : 0));
    const mass = kept.reduce((a, b) => a + b, 0);
    kept.forEach((p, c) => {
      if (p === 0) return;
      const product = this.tensor.product([observed, ...missing.map((mode) => this.mean(mode, c))]);
      for (let r = 0; r < product.length; r++) expected[r] += (p / mass) * product[r];
    });
    return expected;
  }

  #completed(observed, missing, probabilities) {
    const product = Float64Array.from(observed), { starts } = this.tensor;
    const classes = Array.from(this.quantiles, (u) => classAt(u, probabilities));
    for (const mode of missing) {
      const rows = new Map(); // several draws may take the same level
      classes.forEach((c, d) => {
        const level = mode.drawn[d][c];
        if (!rows.has(level)) rows.set(level, this.tensor.row(mode.n, [[level, 1]]));
        const row = rows.get(level);
        for (let r = starts[d]; r < starts[d + 1]; r++) product[r] *= row[r];
      });
    }
    return product;
  }
}

// The first class at which the cumulative probability reaches u.
function classAt(u, probabilities) {
  let reached = 0;
  const at = probabilities.findIndex((p) => (reached += p) >= u);
  return at < 0 ? probabilities.length - 1 : at;
}
