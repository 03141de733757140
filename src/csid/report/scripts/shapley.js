// Exact Shapley values: phi_n = sum_r W(r) (a_n - m_n) int_0^1 prod_(j != n) (m_j + t (a_j - m_j)) dt.

// Gauss-Legendre nodes and weights on [0, 1], exact for polynomials of degree below 2 count.
function gaussRule(count) {
  const nodes = new Float64Array(count), weights = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    let x = Math.cos((Math.PI * (i + 0.75)) / (count + 0.5)), slope = 1;
    for (let step = 0; step < 100; step++) {
      let p = 1, before = 0;
      for (let n = 1; n <= count; n++) [p, before] = [((2 * n - 1) * x * p - (n - 1) * before) / n, p];
      slope = (count * (x * p - before)) / (x * x - 1);
      x -= p / slope;
      if (Math.abs(p / slope) < 1e-16) break;
    }
    nodes[i] = 0.5 - 0.5 * x;
    weights[i] = 1 / ((1 - x * x) * slope * slope);
  }
  return { nodes, weights };
}

const FEW_NODES = 16;
const rules = new Map();

// Values by output and predictor, from the rows of the factors and their means. With many predictors, few nodes are
// tried first: if the values do not add up to the prediction less its mean, the number of nodes is doubled.
function shapleyValues(tensor, rows) {
  const enough = Math.ceil(rows.length / 2);
  const added = tensor.W.map((_, k) => tensor.mean(k, tensor.product(rows)) - tensor.mean(k, tensor.product(tensor.means)));
  for (let count = Math.min(enough, FEW_NODES); ; count = Math.min(enough, 2 * count)) {
    const found = valuesByRule(tensor, rows, count);
    const close = found.every((values, k) => {
      const sum = values.reduce((a, b) => a + b, 0), size = values.reduce((a, b) => a + Math.abs(b), 0);
      return Math.abs(sum - added[k]) <= 1e-10 * size;
    });
    if (close || count === enough) return found;
  }
}

function valuesByRule(tensor, rows, count) {
  if (!rules.has(count)) rules.set(count, gaussRule(count));
  const { nodes, weights } = rules.get(count), { means, W, rank } = tensor, N = rows.length;
  const found = W.map(() => new Float64Array(N));
  const m = new Float64Array(N), d = new Float64Array(N), c = new Float64Array(N);
  const before = new Float64Array(N), integral = new Float64Array(N);
  for (let r = 0; r < rank; r++) {
    for (let n = 0; n < N; n++) {
      m[n] = means[n][r];
      d[n] = rows[n][r] - m[n];
    }
    integral.fill(0);
    for (let q = 0; q < count; q++) {
      const t = nodes[q];
      let product = weights[q];
      for (let n = 0; n < N; n++) {
        before[n] = product;
        product *= c[n] = m[n] + t * d[n];
      }
      product = 1;
      for (let n = N - 1; n >= 0; n--) {
        integral[n] += before[n] * product;
        product *= c[n];
      }
    }
    for (let k = 0; k < W.length; k++) {
      const weight = W[k][r], values = found[k];
      for (let n = 0; n < N; n++) values[n] += weight * d[n] * integral[n];
    }
  }
  return found;
}
