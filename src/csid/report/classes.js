// Missing cells that follow a joint distribution of the predictors: a mixture of classes of rows.

class Classes {
  constructor(told, tensor, arrays) {
    this.tensor = tensor;
    this.least = told.least;
    this.quantiles = arrays.doubles(told.quantiles);
    this.logShares = Array.from(arrays.doubles(told.shares), Math.log);
    const count = this.logShares.length;
    this.modes = told.predictors.map(({ bins, lifts, drawn }, n) => ({
      n,
      bins: arrays.doubles(bins),
      lifts: arrays.rows(lifts, lifts[1] / count),
      drawn: this.quantiles.length ? arrays.rows(drawn, this.quantiles.length) : [],
      means: new Map(),
    }));
  }

  // Probabilities of the classes given the nearest levels of the observed cells.
  probabilities(levels) {
    const scores = Float64Array.from(this.logShares);
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

  // Expected products of rows given the observed cells, and those of draws that fill in the others.
  components(rows, levels) {
    const observed = this.tensor.product(rows.filter((_, n) => levels[n] !== null));
    const lacked = this.modes.filter(({ n }) => levels[n] === null);
    const probabilities = this.probabilities(levels);
    return {
      expected: this.#expected(observed, lacked, probabilities),
      completed: this.#completed(observed, lacked, probabilities),
    };
  }

  #expected(observed, lacked, probabilities) {
    const expected = new Float64Array(observed.length);
    const kept = probabilities.map((p) => (p >= this.least ? p : 0));
    const mass = kept.reduce((a, b) => a + b, 0);
    kept.forEach((p, c) => {
      if (p === 0) return;
      const product = this.tensor.product([observed, ...lacked.map((mode) => this.mean(mode, c))]);
      for (let r = 0; r < product.length; r++) expected[r] += (p / mass) * product[r];
    });
    return expected;
  }

  #completed(observed, lacked, probabilities) {
    const product = Float64Array.from(observed), { starts } = this.tensor;
    const classes = Array.from(this.quantiles, (u) => classAt(u, probabilities));
    for (const mode of lacked) {
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

// The first class at which the sum of the probabilities is not below u.
function classAt(u, probabilities) {
  let reached = 0;
  const at = probabilities.findIndex((p) => (reached += p) >= u);
  return at < 0 ? probabilities.length - 1 : at;
}
