// A control for a predictor: a slider with a box, or a list, and a check box that makes the cell missing. A box that is
// emptied makes it missing too.

const MISSING = "missing"; // in a list

class Control {
  constructor(predictor, n, changed) {
    this.predictor = predictor;
    this.changed = changed;
    const id = `cell-${n}`;
    const ticked = () => changed(this.missing.checked ? null : this.last);
    this.missing = element("input", { type: "checkbox", id: `${id}-missing`, on: { change: ticked } });
    const whose = element("span", { class: "hidden" }, ` ${predictor.name}`);
    const box = element("label", { class: "missing", for: `${id}-missing` }, this.missing, "missing", whose);
    this.note = element("span", { class: "beyond", hidden: true }, "outside the training data");
    const inputs = predictor.isNumber && !predictor.words.length ? this.#numberInputs(id) : this.#listInputs(id);
    const name = element("label", { class: "name", for: id, title: predictor.name }, predictor.name);
    const head = element("div", { class: "head" }, name, this.note, box);
    this.node = element("div", { class: "control" }, head, element("div", { class: "inputs" }, ...inputs));
    this.last = predictor.isNumber ? predictor.grid[predictor.grid.length >> 1] : predictor.known ? 0 : -1; // when unticked
  }

  #numberInputs(id) {
    const { grid, date, name } = this.predictor, low = grid[0], high = grid.at(-1), timed = isTimed(this.predictor);
    const step = grid.every(Number.isInteger) ? 1 : 10 ** Math.floor(Math.log10((high - low) / 300 || 1));
    const decimals = Math.min(20, Math.max(0, -Math.round(Math.log10(step))));
    const [min, max] = [Math.floor(low / step), Math.ceil(high / step)].map((count) => (count * step).toFixed(decimals));
    this.step = step; // sliders use round numbers, and end just beyond the data
    const moved = () => this.changed(Number(this.slider.value));
    this.slider = element("input", { type: "range", id, min, max, step: step.toFixed(decimals), on: { input: moved } });
    this.box = element("input", {
      type: timed ? "datetime-local" : date ? "date" : "number", step: date && !timed ? 1 : "any", "aria-label": `${name}, exact value`, placeholder: "missing",
      on: { input: () => this.#fromBox() },
    });
    return [this.slider, this.box];
  }

  #listInputs(id) {
    const { isNumber, words, categories } = this.predictor;
    const names = isNumber ? words : categories;
    const options = names.map((name, at) => element("option", { value: at }, String(name)));
    if (!isNumber) options.push(element("option", { value: -1 }, "(unseen category)"));
    options.push(element("option", { value: MISSING }, "(missing)"));
    const chosen = () => this.changed(this.list.value === MISSING ? null : Number(this.list.value));
    this.list = element("select", { id, on: { change: chosen } }, ...options);
    return [this.list];
  }

  #fromBox() {
    const { value, validity } = this.box, inDays = () => Date.parse(isTimed(this.predictor) ? `${value}Z` : value) / DAY;
    const number = this.predictor.date ? inDays() : parseFloat(value);
    if (Number.isFinite(number)) this.changed(number, this.box);
    else if (!validity.badInput) this.changed(null, this.box); // empty, rather than half a number
  }

  // Show a cell without reporting a change; a box that is being typed in is left alone.
  show(cell, from = null) {
    const missing = cell === null;
    if (!missing) this.last = cell;
    this.missing.checked = missing;
    this.node.classList.toggle("is-missing", missing);
    if (this.list) {
      this.list.value = missing ? MISSING : String(cell);
      return;
    }
    const { grid, date } = this.predictor;
    this.slider.value = String(this.last);
    this.slider.setAttribute("aria-valuetext", formatCell(this.predictor, cell));
    const text = () => (date ? formatCell(this.predictor, cell).replace(" ", "T") : String(Number(cell.toPrecision(8))));
    if (from !== this.box) this.box.value = missing ? "" : text();
    this.note.hidden = missing || (grid[0] - this.step < cell && cell < grid.at(-1) + this.step);
  }
}
