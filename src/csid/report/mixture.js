// Distributions of new observations: mixtures of normals or of Student's t with 4 degrees of freedom.

// The complementary error function of z >= 0, to rounding: a series of positive terms, or a continued fraction.
function erfcOfPositive(z) {
  if (z < 3) {
    let term = z, sum = z;
    for (let n = 1; term > 1e-17 * sum; n++) sum += term *= (2 * z * z) / (2 * n + 1);
    return 1 - (2 / Math.sqrt(Math.PI)) * Math.exp(-z * z) * sum;
  }
  let fraction = z;
  for (let n = 60; n > 0; n--) fraction = z + n / 2 / fraction;
  return Math.exp(-z * z) / (Math.sqrt(Math.PI) * fraction);
}

const NORMAL = {
  below: (z) => (z < 0 ? 0.5 * erfcOfPositive(-z / Math.SQRT2) : 1 - 0.5 * erfcOfPositive(z / Math.SQRT2)),
  density: (z) => Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI),
};

const STUDENT4 = {
  below: (z) => {
    const s = z / Math.hypot(2, z);
    return 0.5 + 0.25 * s * (3 - s * s);
  },
  density: (z) => 0.375 * Math.pow(1 + 0.25 * z * z, -2.5),
};

const FARTHEST = 60; // scales from a centre, beyond any quantile that is asked for

// Where the distribution function reaches q, by Newton's method inside a shrinking bracket.
function quantile(q, centres, scales, shares, noise) {
  let low = Infinity, high = -Infinity, x = 0;
  centres.forEach((centre, d) => {
    low = Math.min(low, centre - FARTHEST * scales[d]);
    high = Math.max(high, centre + FARTHEST * scales[d]);
    x += shares[d] * centre;
  });
  for (let step = 0; step < 200; step++) {
    let below = 0, density = 0;
    centres.forEach((centre, d) => {
      const z = (x - centre) / scales[d];
      below += shares[d] * noise.below(z);
      density += (shares[d] * noise.density(z)) / scales[d];
    });
    const excess = below - q;
    if (Math.abs(excess) < 1e-13) break;
    if (excess < 0) low = x;
    else high = x;
    x -= excess / Math.max(density, 1e-300);
    if (!(low < x && x < high)) x = 0.5 * (low + high);
    if (high - low <= 1e-15 * Math.max(Math.abs(low), Math.abs(high))) break;
  }
  return x;
}

// The interval that holds a share of weighted draws in its middle: a draw stands at the middle of its own weight.
function middleOfDraws(values, shares, coverage) {
  const order = Array.from(values.keys()).sort((a, b) => values[a] - values[b]);
  const sorted = order.map((d) => values[d]);
  let sum = 0;
  const reached = order.map((d) => (sum += shares[d]) - 0.5 * shares[d]);
  return [0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage].map((q) => interpolated(q, reached, sorted));
}
