// The values of a plot: under the pointer, where it is touched, and by the arrow keys.
//
// A reading is a point of the drawing and its words, { x, y, words: [what, value, more] }. For assistive technology a
// plot is a slider over its readings, so that each is announced.

const KEYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const LIFT = 14, TOUCHED_LIFT = 40; // pixels from a point to its words, above a pointer or a finger

class Readable {
  // `find` returns the readings. Distances are measured `across` or `along` or both. Readings are a list, which runs
  // upwards or `downwards`, or columns of so many `rows`, the lowest first.
  constructor(svg, find, { across = 1, along = 1, rows = 0, downwards = false } = {}) {
    Object.assign(this, { svg, find, across, along, rows, downwards, at: null });
    this.tip = element("div", { class: "reading", "aria-hidden": "true", hidden: true });
    this.marker = drawn("circle", { class: "marker", r: 5, visibility: "hidden" });
    this.node = element("div", { class: "plot" }, svg, this.tip);
    const slider = { role: "slider", tabindex: 0, "aria-valuemin": 0, "aria-valuemax": 0, "aria-valuenow": 0 };
    const on = {
      pointermove: (event) => this.#point(event),
      pointerdown: (event) => this.#point(event),
      pointerleave: (event) => event.pointerType !== "touch" && this.#hide(),
      pointercancel: () => this.#hide(),
      blur: () => this.#hide(),
      keydown: (event) => this.#press(event),
    };
    filled(svg, { ...slider, "aria-valuetext": "Arrow keys read the values", on }, [this.marker]);
  }

  #found() {
    this.readings ??= this.find();
    this.svg.setAttribute("aria-valuemax", this.readings.length - 1);
    return this.readings.length > 0;
  }

  #point(event) {
    if (!this.#found()) return;
    const box = this.svg.getBoundingClientRect(), scale = this.svg.viewBox.baseVal.width / box.width;
    const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    const distances = this.readings.map((one) => Math.hypot(this.across * (one.x - x), this.along * (one.y - y)));
    this.#show(distances.indexOf(Math.min(...distances)), event.pointerType === "touch" ? TOUCHED_LIFT : LIFT);
  }

  #press(event) {
    const { key } = event;
    if (key === "Escape") this.#hide();
    if (!(key in KEYS || key === "Home" || key === "End") || !this.#found()) return;
    event.preventDefault();
    this.#show(key === "Home" ? 0 : key === "End" ? this.readings.length - 1 : this.#moved(KEYS[key]));
  }

  #moved([right, up]) {
    const { at, rows, readings } = this;
    if (at === null) return 0;
    const next = at + (rows ? rows * right + up : this.downwards ? right - up : right + up);
    const leaves = rows && up && Math.floor(next / rows) !== Math.floor(at / rows);
    return leaves || next < 0 || next >= readings.length ? at : next;
  }

  #show(at, lift = LIFT) {
    const { svg, tip, marker, node } = this, { x, y, words } = this.readings[at], [what, value, more] = words;
    this.at = at;
    svg.setAttribute("aria-valuenow", at);
    svg.setAttribute("aria-valuetext", words.filter(Boolean).join(", "));
    marker.setAttribute("cx", round(x));
    marker.setAttribute("cy", round(y));
    marker.setAttribute("visibility", "visible");
    tip.replaceChildren(element("span", {}, what), element("strong", {}, value), more ? element("span", {}, more) : "");
    tip.hidden = false;
    tip.style.left = 0; // its width must not depend on where it was
    const scale = svg.clientWidth / svg.viewBox.baseVal.width, above = scale * y - tip.offsetHeight - lift;
    const left = Math.min(scale * x - tip.offsetWidth / 2, node.clientWidth - tip.offsetWidth);
    tip.style.left = `${Math.max(0, left)}px`;
    tip.style.top = `${above < -40 ? scale * y + lift : above}px`;
  }

  #hide() {
    this.tip.hidden = true;
    this.marker.setAttribute("visibility", "hidden");
  }
}

const readable = (...plot) => new Readable(...plot).node;
