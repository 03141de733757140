// Plots are drawn as wide as their place when they come into view, and again when that width changes. Texts in them
// keep their size. Before printing all are drawn for the width of their cards on paper, and lower.

const HEIGHT = 320; // pixels, of the tallest plot on a screen
const ON_PAPER = { narrow: { width: 230, height: 200 }, wide: { width: 330, height: 220 } };

class Lazy {
  constructor() {
    this.makers = new Map();
    this.sizes = new Map(); // of those that are drawn; no width while the page has none
    this.observer = new IntersectionObserver(
      (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => this.#draw(entry.target)),
      { rootMargin: "600px" },
    );
    addEventListener("resize", () => this.#drawAgain());
    addEventListener("beforeprint", () => this.#drawForPaper());
    addEventListener("afterprint", () => this.#drawAgain());
  }

  // A placeholder for the nodes that `make` returns in a list for a size: a width, and the largest height.
  place(kind, make) {
    const place = element("div", { class: kind });
    this.makers.set(place, make);
    this.observer.observe(place);
    return place;
  }

  #drawForPaper() {
    for (const place of this.makers.keys()) this.#draw(place, place.closest(".wide") ? ON_PAPER.wide : ON_PAPER.narrow);
  }

  #drawAgain() {
    for (const place of this.sizes.keys()) this.#draw(place);
  }

  #draw(place, size = { width: place.clientWidth, height: HEIGHT }) {
    this.observer.unobserve(place);
    const drawn = this.sizes.get(place);
    if (!place.isConnected) {
      this.makers.delete(place);
      this.sizes.delete(place);
    } else if (drawn?.width !== size.width || drawn.height !== size.height) {
      this.sizes.set(place, size);
      if (size.width > 0) place.replaceChildren(...this.makers.get(place)(size));
    }
  }
}
