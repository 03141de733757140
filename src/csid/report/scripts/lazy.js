// Plots are drawn when they come into view, or all of them when the page is printed.

class Lazy {
  constructor() {
    this.makers = new Map();
    this.observer = new IntersectionObserver(
      (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => this.#make(entry.target)),
      { rootMargin: "600px" },
    );
    addEventListener("beforeprint", () => this.all());
  }

  // A placeholder for the nodes that `make` returns in a list.
  place(kind, make) {
    const place = element("div", { class: kind });
    this.makers.set(place, make);
    this.observer.observe(place);
    return place;
  }

  all() {
    for (const place of [...this.makers.keys()]) this.#make(place);
  }

  #make(place) {
    this.observer.unobserve(place);
    const make = this.makers.get(place);
    this.makers.delete(place);
    if (make && place.isConnected) place.replaceChildren(...make());
  }
}
