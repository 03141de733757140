// The tensor f_k(x) = b_k + sum_r W_k(r) prod_n a_n(x)_r, the components of all draws side by side.

class Tensor {
  constructor(entries, predictors, outputs, arrays) {
    this.predictors = predictors;
    this.outputs = outputs;
    this.groups = [];
    this.starts = [0]; // first component of each draw, then the number of all
    this.weights = []; // of the draws
    this.biases = []; // of each draw, for all outputs
    const V = [];
    for (const group of entries) this.#add(group, V, arrays);
    this.rank = this.starts.at(-1);
    this.V = Array.from({ length: outputs }, () => new Float64Array(this.rank));
    for (const [start, rows] of V) rows.forEach((row, k) => this.V[k].set(row, start));
    this.W = this.V.map((v) => this.#weighted(v));
    this.bias = Array.from({ length: outputs }, (_, k) => this.weights.reduce((sum, w, d) => sum + w * this.biases[d][k], 0));
    this.means = predictors.map((predictor, n) => this.row(n, predictor.average));
  }

  #add(group, V, arrays) {
    const start = this.starts.at(-1), components = group.ranks.reduce((a, b) => a + b, 0);
    const draws = group.ranks.length;
    for (const rank of group.ranks) this.starts.push(this.starts.at(-1) + rank);
    this.weights.push(...arrays.doubles(group.weights));
    this.biases.push(...arrays.rows(group.bias, draws));
    V.push([start, arrays.rows(group.V, this.outputs)]);
    const factors = this.predictors.map((predictor, n) => factorOf(group, predictor, n, components, arrays));
    this.groups.push({ start, components, factors });
  }

  // An output factor times the weights of the draws, for their mean.
  #weighted(v) {
    const weights = Float64Array.from(v);
    this.weights.forEach((weight, d) => {
      for (let r = this.starts[d]; r < this.starts[d + 1]; r++) weights[r] *= weight;
    });
    return weights;
  }

  // The row of factor n at weighted levels.
  row(n, parts) {
    const row = new Float64Array(this.rank);
    for (const { start, components, factors } of this.groups) {
      const factor = factors[n];
      for (const [level, weight] of ownParts(factor, parts)) {
        for (let r = 0, at = level * components; r < components; r++, at++) row[start + r] += weight * factor.cells[at];
      }
      for (let r = 0; r < components; r++) row[start + r] *= factor.units[r];
    }
    return row;
  }

  // The product of some rows.
  product(rows) {
    const product = new Float64Array(this.rank).fill(1);
    for (const row of rows) for (let r = 0; r < product.length; r++) product[r] *= row[r];
    return product;
  }

  // The mean over draws of output k, from the products of rows.
  mean(k, components) {
    const weights = this.W[k];
    let sum = this.bias[k];
    for (let r = 0; r < components.length; r++) sum += weights[r] * components[r];
    return sum;
  }

  // The value of each draw.
  values(k, components) {
    const v = this.V[k];
    return Float64Array.from(this.weights, (_, d) => {
      let sum = this.biases[d][k];
      for (let r = this.starts[d]; r < this.starts[d + 1]; r++) sum += v[r] * components[r];
      return sum;
    });
  }

  // The product of the mean rows of all predictors except some.
  others(...but) {
    return this.product(this.means.filter((_, n) => !but.includes(n)));
  }
}

// A factor of a group of draws: its cells, and the positions of the model's levels among its own.
function factorOf(group, predictor, n, components, arrays) {
  const [start, units] = group.cells[n];
  const own = group.levels[n] && arrays.doubles(group.levels[n]);
  const levels = own ? own.length + (predictor.levels - predictor.ordered) : predictor.levels;
  const factor = { cells: arrays.cells(start, levels, components), units: arrays.doubles(units), places: null };
  if (own) {
    const grid = predictor.grid, knots = Float64Array.from(own, (at) => grid[at]);
    const numbers = Float64Array.from(own, (_, i) => i);
    factor.places = Float64Array.from({ length: predictor.levels }, (_, level) =>
      level < grid.length ? interpolated(grid[level], knots, numbers) : level - grid.length + own.length,
    );
  }
  return factor;
}

// Weighted levels of the model as weighted levels of a factor.
function ownParts(factor, parts) {
  if (factor.places === null) return parts;
  const weights = new Map();
  const add = (level, weight) => weight && weights.set(level, (weights.get(level) || 0) + weight);
  for (const [level, weight] of parts) {
    const below = Math.floor(factor.places[level]), t = factor.places[level] - below;
    add(below, weight * (1 - t));
    add(below + 1, weight * t);
  }
  return weights;
}
