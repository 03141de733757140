// A cell of a row as weighted levels of its predictor: pairs of a level and a weight.
//
// A cell is a number, the position of a category (-1 if it is unseen), or null if it is missing.

class Predictor {
  constructor(entries, arrays) {
    Object.assign(this, entries);
    this.isNumber = entries.kind === "number";
    this.marginal = arrays.doubles(entries.marginal);
    this.levels = this.marginal.length;
    this.grid = this.isNumber ? arrays.doubles(entries.grid) : null;
    this.ordered = this.isNumber ? this.grid.length : 0;
    this.known = this.isNumber ? this.grid.length : entries.categories.length;
    this.average = Array.from(this.marginal, (p, level) => [level, p]).filter(([, p]) => p > 0);
  }

  // Whether a cell is averaged over: an unseen category, or missing without a level of its own.
  isUnknown(cell) {
    return cell === null ? !this.own_missing : !this.isNumber && cell < 0;
  }

  parts(cell) {
    if (this.isUnknown(cell)) return this.average;
    if (cell === null) return [[this.known, 1]];
    if (!this.isNumber) return [[cell, 1]];
    const [level, t] = this.place(cell);
    return t === 0 ? [[level, 1]] : [[level, 1 - t], [level + 1, t]];
  }

  // The level at or below a number, and its position towards the next, in single precision as in the fit.
  place(x) {
    const grid = this.grid, last = grid.length - 1;
    if (!this.linear) {
      let level = 0;
      while (level < last && 0.5 * grid[level + 1] + 0.5 * grid[level] < x) level++;
      return [level, 0];
    }
    const above = firstAbove(grid, x);
    if (above === 0 || above > last) return [Math.max(above - 1, 0), 0];
    return [above - 1, Math.fround((x - grid[above - 1]) / (grid[above] - grid[above - 1]))];
  }

  // The nearest level, the lower one at a midpoint; null for a missing cell or an unseen category.
  nearest(cell) {
    if (cell === null || this.isUnknown(cell)) return null;
    if (!this.isNumber) return cell;
    const [level, t] = this.place(cell);
    return level + (t > 0.5 ? 1 : 0);
  }
}

// The position of the first of some increasing numbers that is above x.
function firstAbove(increasing, x) {
  let low = 0, high = increasing.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (increasing[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Linear between increasing knots, constant beyond them.
function interpolated(x, knots, values) {
  const above = firstAbove(knots, x);
  if (above === 0 || above === knots.length) return values[Math.max(above - 1, 0)];
  const t = (x - knots[above - 1]) / (knots[above] - knots[above - 1]);
  return values[above - 1] + t * (values[above] - values[above - 1]);
}
