// The predictors as a table that can be searched and sorted.

const FEW_PREDICTORS = 10; // that need no search

registerSection("predictors", {
  link: "Predictors",
  title: "Predictors by importance",
  text: ({ doc }) =>
    `Sobol indices: the share of the variance of the ${varying(doc)} that is due to a predictor in total, with its ` +
    "interactions (the whole bar), and alone (the dark part). Totals add up to more than 100\u00a0% if predictors " +
    "interact. The indices assume independent predictors.",
  create: (report, place) => new PredictorTable(report, place),
});

class PredictorTable {
  constructor({ model, doc: { sobol } }, place) {
    this.rows = model.predictors.map((predictor, n) => ({
      n,
      name: predictor.name,
      kind: kindOf(predictor),
      total: sobol.total[n],
      first: sobol.first[n],
    }));
    this.sort = { by: "total", falling: true };
    this.k = 0;
    this.body = element("tbody");
    this.heads = ["name", "kind", "total", "first"].map((by) => this.#head(by));
    this.count = element("p", { class: "note", "aria-live": "polite" });
    this.search = searchBox("Find a predictor", () => this.show());
    this.search.id = "find";
    const caption = element("caption", { class: "hidden" }, "Sobol indices of the predictors");
    const table = element("table", { class: "predictors" }, caption, element("thead", {}, element("tr", {}, ...this.heads)), this.body);
    const region = element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of predictors" }, table);
    const toolbar = element("div", { class: "toolbar", hidden: this.rows.length <= FEW_PREDICTORS }, this.search, this.count);
    place.append(element("div", { class: "card", id: "predictor-table" }, toolbar, region));
  }

  #head(by) {
    const words = { name: "Predictor", kind: "Type", total: "Total", first: "Alone" }[by];
    const button = element("button", { type: "button", on: { click: () => this.#sortBy(by) } }, words);
    return element("th", { scope: "col", class: by, "data-by": by }, button);
  }

  #sortBy(by) {
    this.sort = { by, falling: this.sort.by === by ? !this.sort.falling : by !== "name" && by !== "kind" };
    this.show();
  }

  show(k = this.k) {
    this.k = k;
    const { by, falling } = this.sort, sought = this.search.value.trim().toLowerCase();
    const key = (row) => (Array.isArray(row[by]) ? row[by][k] : row[by]);
    const order = (a, b) => (typeof key(a) === "string" ? key(a).localeCompare(key(b), "en", { numeric: true }) : key(a) - key(b));
    const matching = this.rows.filter((row) => row.name.toLowerCase().includes(sought));
    const found = matching.sort((a, b) => (falling ? -1 : 1) * order(a, b) || a.n - b.n);
    for (const head of this.heads) {
      if (head.dataset.by === by) head.setAttribute("aria-sort", falling ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    }
    const largest = Math.max(...this.rows.map((row) => row.total[k]), 1e-300);
    this.body.replaceChildren(...found.map((row) => this.#row(row, k, largest)));
    const all = this.rows.length;
    this.count.textContent = found.length === all ? counted(all, "predictor") : `${found.length} of ${counted(all, "predictor")}`;
  }

  #row({ n, name, kind, total, first }, k, largest) {
    const [whole, alone] = [element("span", { class: "total" }), element("span", { class: "alone" })];
    whole.style.width = `${(100 * total[k]) / largest}%`;
    alone.style.width = `${(100 * first[k]) / largest}%`;
    const bar = element("span", { class: "bar", "aria-hidden": "true" }, whole, alone);
    return element(
      "tr", {},
      element("th", { scope: "row" }, element("a", { href: `#effect-${n}` }, name)),
      element("td", { class: "kind" }, kind),
      element("td", { class: "share" }, element("span", { class: "number" }, formatShare(total[k], 1)), bar),
      element("td", { class: "first number" }, formatShare(first[k], 1)),
    );
  }
}

function searchBox(words, act) {
  return element("input", { type: "search", placeholder: words, "aria-label": words, on: { input: act } });
}

function kindOf(predictor) {
  if (!predictor.isNumber) return counted(predictor.known, "category", "categories");
  if (predictor.words.length) return counted(predictor.words.length, "ordered category", "ordered categories");
  return predictor.date ? "date" : "number";
}
