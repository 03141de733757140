// Where a cell of a row falls among the levels of its predictor, as pairs of a level and a weight.
//
// A cell is a number, the position of a category (-1 for one never seen), or null where it is missing.

class Predictor {
  constructor(told, arrays) {
    Object.assign(this, told);
    this.isNumber = told.kind === "number";
    this.marginal = arrays.doubles(told.marginal);
    this.levels = this.marginal.length;
    this.grid = this.isNumber ? arrays.doubles(told.grid) : null;
    this.ordered = this.isNumber ? this.grid.length : 0;
    this.known = this.isNumber ? this.grid.length : told.categories.length;
    this.average = Array.from(this.marginal, (p, level) => [level, p]).filter(([, p]) => p > 0);
  }

  // Whether nothing is known of a cell, so that it is averaged over.
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

  // The level at or below a number and how far it is on the way to the next, in single precision as in the fit.
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

  // The level nearest to a cell, the lower one of two that are as near; null where nothing is known of it.
  nearest(cell) {
    if (this.isUnknown(cell)) return null;
    if (!this.isNumber || cell === null) return cell === null ? this.known : cell;
    const [level, t] = this.place(cell);
    return level + (t > 0.5 ? 1 : 0);
  }
}

// The position of the first of some rising numbers that is above x.
function firstAbove(rising, x) {
  let low = 0, high = rising.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (rising[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Linear between rising knots, constant beyond them.
function interpolated(x, knots, values) {
  const above = firstAbove(knots, x);
  if (above === 0 || above === knots.length) return values[Math.max(above - 1, 0)];
  const t = (x - knots[above - 1]) / (knots[above] - knots[above - 1]);
  return values[above - 1] + t * (values[above] - values[above - 1]);
}
