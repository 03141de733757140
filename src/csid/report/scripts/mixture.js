// Predictive distributions: mixtures over the draws. `noise` is that of the likelihood, with scale one.

// The distribution function and the density of a mixture.
function mixtureAt(x, { centres, scales, weights, noise }) {
  let cdf = 0, pdf = 0;
  centres.forEach((centre, d) => {
    const z = (x - centre) / scales[d];
    cdf += weights[d] * noise.cdf(z);
    pdf += (weights[d] * noise.pdf(z)) / scales[d];
  });
  return { cdf, pdf };
}

// Where the distribution function reaches q, by Newton's method inside a shrinking bracket. A step that does not halve the
// excess is followed by a bisection, as Newton's steps alone can jump to and fro between two draws.
function quantile(q, mixture) {
  const { centres, scales, weights } = mixture;
  let [low, high] = bracket(q, mixture);
  let x = centres.reduce((sum, centre, d) => sum + weights[d] * centre, 0);
  for (let step = 0, last = Infinity; step < 200; step++) {
    if (!(low < x && x < high)) x = 0.5 * (low + high);
    const { cdf, pdf } = mixtureAt(x, mixture), excess = cdf - q;
    if (Math.abs(excess) < 1e-13) break;
    if (excess < 0) low = x;
    else high = x;
    const halved = Math.abs(excess) <= 0.5 * last;
    x = halved ? x - excess / Math.max(pdf, 1e-300) : 0.5 * (low + high);
    last = halved ? Math.abs(excess) : Infinity;
    if (high - low <= 1e-15 * Math.max(Math.abs(low), Math.abs(high))) break;
  }
  return x;
}

// Numbers below and above the quantile, found by doubling the distance.
function bracket(q, mixture) {
  const { centres, scales } = mixture;
  let low = Math.min(...centres.map((centre, d) => centre - scales[d]));
  let high = Math.max(...centres.map((centre, d) => centre + scales[d]));
  const width = high - low || 1;
  for (let step = width; mixtureAt(low, mixture).cdf > q && step < 1e300; step *= 2) low -= step;
  for (let step = width; mixtureAt(high, mixture).cdf < q && step < 1e300; step *= 2) high += step;
  return [low, high];
}

// The central interval of weighted draws with this coverage; a draw is at the middle of its own weight.
function intervalOfDraws(values, weights, coverage) {
  const order = Array.from(values.keys()).sort((a, b) => values[a] - values[b]);
  const sorted = order.map((d) => values[d]);
  let sum = 0;
  const reached = order.map((d) => (sum += weights[d]) - 0.5 * weights[d]);
  return [0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage].map((q) => interpolated(q, reached, sorted));
}
