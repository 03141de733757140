// A prediction and its interval on the range of observations, with a scale and the average prediction.

class Strip {
  // averages, deviations : of each output; observed : the range of each, or null.
  constructor(averages, deviations, observed) {
    this.averages = averages;
    this.usual = observed || averages.map((average, k) => [average - 3 * deviations[k], average + 3 * deviations[k]]);
    [this.range, this.centre, this.mark] = ["range", "average", "mark"].map((kind) => element("span", { class: kind }));
    this.ticks = element("div", { class: "ticks" });
    this.legend = element("p", { class: "note" });
    const bar = element("div", { class: "strip" }, this.range, this.centre, this.mark);
    this.node = element("div", { "aria-hidden": "true" }, bar, this.ticks, this.legend);
  }

  show(k, mean, [lower, upper], format) {
    const average = this.averages[k], [least, largest] = this.usual[k];
    const low = Math.min(least, average, lower), high = Math.max(largest, average, upper);
    const at = (value) => `${high > low ? (100 * (value - low)) / (high - low) : 50}%`;
    this.range.style.left = at(lower);
    this.range.style.width = `calc(${at(upper)} - ${at(lower)})`;
    this.centre.style.left = at(average);
    this.mark.style.left = at(mean);
    const ticks = niceTicks(low, high, 6).map(([tick, text]) => {
      const node = element("span", {}, text);
      node.style.left = at(tick);
      return node;
    });
    this.ticks.replaceChildren(...ticks);
    this.legend.textContent = `Dashed line: the average prediction, ${format(average)}.`;
  }
}
