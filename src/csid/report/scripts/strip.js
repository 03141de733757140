// A prediction and its interval on the range of observations, with a scale and the average prediction.

class Strip {
  constructor(averages, deviations) {
    Object.assign(this, { averages, deviations });
    [this.range, this.centre, this.mark] = ["range", "average", "mark"].map((kind) => element("span", { class: kind }));
    this.ticks = element("div", { class: "ticks" });
    this.legend = element("p", { class: "note" });
    const bar = element("div", { class: "strip" }, this.range, this.centre, this.mark);
    this.node = element("div", { "aria-hidden": "true" }, bar, this.ticks, this.legend);
  }

  show(k, mean, [lower, upper], format) {
    const average = this.averages[k], reach = 3 * this.deviations[k];
    const low = Math.min(average - reach, lower), high = Math.max(average + reach, upper);
    const at = (value) => `${high > low ? (100 * (value - low)) / (high - low) : 50}%`;
    this.range.style.left = at(lower);
    this.range.style.width = `calc(${at(upper)} - ${at(lower)})`;
    this.centre.style.left = at(average);
    this.mark.style.left = at(mean);
    const ticks = niceTicks(low, high, 4).map(([tick, text]) => {
      const node = element("span", {}, text);
      node.style.left = at(tick);
      return node;
    });
    this.ticks.replaceChildren(...ticks);
    this.legend.textContent = `Dashed line: the average prediction, ${format(average)}.`;
  }
}
