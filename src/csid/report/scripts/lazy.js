// Plots are drawn as wide as their place when they come into view, and again when that width changes. Texts in them
// keep their size. Before printing all are drawn, as wide as a card is on paper.

const PRINTED = 330; // pixels

class Lazy {
  constructor() {
    this.makers = new Map();
    this.widths = new Map(); // of those that are drawn, 0 while the page has no size
    this.observer = new IntersectionObserver(
      (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => this.#draw(entry.target)),
      { rootMargin: "600px" },
    );
    addEventListener("resize", () => this.#drawAgain());
    addEventListener("beforeprint", () => [...this.makers.keys()].forEach((place) => this.#draw(place, PRINTED)));
    addEventListener("afterprint", () => this.#drawAgain());
  }

  // A placeholder for the nodes that `make` returns in a list for a width in pixels.
  place(kind, make) {
    const place = element("div", { class: kind });
    this.makers.set(place, make);
    this.observer.observe(place);
    return place;
  }

  #drawAgain() {
    for (const [place, width] of this.widths) if (place.clientWidth !== width) this.#draw(place);
  }

  #draw(place, width = place.clientWidth) {
    this.observer.unobserve(place);
    if (!place.isConnected) {
      this.makers.delete(place);
      this.widths.delete(place);
    } else if (this.widths.get(place) !== width) {
      this.widths.set(place, width);
      if (width > 0) place.replaceChildren(...this.makers.get(place)(width));
    }
  }
}
