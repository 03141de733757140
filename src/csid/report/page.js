// The page: what is shown where, for the chosen output, when it comes into view.

const byId = (id) => document.getElementById(id);
const told = JSON.parse(byId("document").textContent);

const FIGURES = {
  r2: ["R²", "share of the variance explained"],
  rmse: ["RMSE", "root mean square error"],
  mae: ["MAE", "mean absolute error"],
  coverage: ["Coverage", "of 90 % intervals"],
};

// Drawings are made when they come into view, or all of them when the page is printed.
class Lazy {
  constructor() {
    this.makers = new Map();
    this.observer = new IntersectionObserver(
      (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => this.#make(entry.target)),
      { rootMargin: "600px" },
    );
  }

  add(place, make) {
    this.makers.set(place, make);
    this.observer.observe(place);
  }

  #make(place) {
    this.observer.unobserve(place);
    const make = this.makers.get(place);
    this.makers.delete(place);
    if (make) place.replaceChildren(...make());
  }

  all() {
    for (const place of [...this.makers.keys()]) this.#make(place);
  }
}

const lazy = new Lazy();
addEventListener("beforeprint", () => {
  lazy.all();
  for (const details of document.querySelectorAll("details")) details.open = true;
});

function showFacts() {
  byId("facts").append(...told.facts.flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]));
  byId("lead").textContent =
    `How ${told.targets.join(" and ")} ${told.targets.length > 1 ? "depend" : "depends"} on ${told.model.predictors.length} ` +
    "predictors, learnt as a low-rank tensor with one smooth curve per predictor and component.";
}

function showFigures(k) {
  const tiles = byId("figures");
  if (!told.evidence) {
    const { noise, figures } = told.fit;
    const own = noise ? [tile("Noise", formatNumber(noise[k]), "scale of what the model cannot tell, by its own account"), tile("R-hat", formatNumber(figures.prediction_rhat ?? NaN, 3), "of predictions; near 1 when chains agree")] : [];
    tiles.replaceChildren(...own);
    byId("evidence").textContent = "No rows were given with this report, so there are no held-out figures here: nothing on this page says how good the model is on new rows.";
    return;
  }
  const { rows, outputs } = told.evidence;
  tiles.replaceChildren(
    ...Object.entries(FIGURES).filter(([name]) => outputs[k].figures[name]).map(([name, [title, words]]) => {
      const { value, low, high } = outputs[k].figures[name], show = name === "coverage" ? formatShare : (x) => formatNumber(x);
      return tile(title, value === null ? "–" : show(value), words, `95 % sure: ${show(low)} to ${show(high)}`);
    }),
  );
  byId("evidence").textContent = `Measured on the ${rows.toLocaleString("en-US")} rows that were given for this report. They say how good the model is on new rows only if it has not seen them in training.`;
}

function tile(title, value, words, more = "") {
  return element("div", { class: "tile" }, element("dt", {}, title), element("dd", {}, element("strong", {}, value), element("span", {}, words), more ? element("span", { class: "sure" }, more) : null));
}

function showEffects(model, k, ordered) {
  const target = told.targets[k], order = model.predictors.map((_, n) => n).sort((a, b) => told.shares.total[b][k] - told.shares.total[a][k] || a - b);
  let common = null;
  if (byId("same-scale").checked) {
    const ranges = order.map((n) => rangeOf(model.effect(n, k), model.mean[k]));
    common = [Math.min(...ranges.map(([low]) => low)), Math.max(...ranges.map(([, high]) => high))];
  }
  byId("effect-cards").replaceChildren(
    ...order.map((n) => {
      const place = element("div", { class: "drawing" });
      lazy.add(place, () => [effectDrawing(model, n, k, target, common), element("p", { class: "note" }, missingWords(model, n, k))]);
      const heading = element("h3", {}, model.predictors[n].name, element("span", { class: "share" }, formatShare(told.shares.total[n][k])));
      return element("article", { class: "card", id: `effect-${n}` }, heading, place);
    }),
  );
}

function showPairs(model, k) {
  const pairs = told.shares.strongest[k], beyond = byId("beyond").checked, target = told.targets[k];
  byId("pair-cards").replaceChildren(
    ...pairs.map(([i, n, share]) => {
      const place = element("div", { class: "drawing tall" });
      lazy.add(place, () => [pairDrawing(model, i, n, k, target, beyond)]);
      const heading = element("h3", {}, `${model.predictors[i].name} × ${model.predictors[n].name}`, element("span", { class: "share" }, formatShare(share)));
      return element("article", { class: "card" }, heading, place);
    }),
  );
  byId("pair-note").hidden = pairs.length > 0;
}

function showAdditivity(k) {
  const parts = [["main", "single predictors"], ["pairs", "pairs beyond them"], ["higher", "three or more together"]];
  const shares = parts.map(([name]) => Math.min(1, Math.max(0, told.shares[name][k][0])));
  const bar = element("div", { class: "parts", role: "img", "aria-label": parts.map(([, words], i) => `${words} ${formatShare(shares[i])}`).join(", ") }, ...parts.map(([name]) => element("span", { class: name })));
  shares.forEach((share, i) => (bar.children[i].style.flexGrow = share));
  const legend = element("ul", { class: "legend" }, ...parts.map(([name, words], i) => element("li", {}, element("span", { class: `key ${name}`, "aria-hidden": "true" }), `${words} `, element("strong", {}, formatShare(shares[i])))));
  byId("additivity").replaceChildren(bar, legend);
}

function showCalibration(k) {
  if (!told.evidence) return;
  const { calibration, points } = told.evidence.outputs[k], target = told.targets[k];
  const card = (title, make, note) => {
    const place = element("div", { class: "drawing tall" });
    lazy.add(place, () => [make(), element("p", { class: "note" }, note)]);
    return element("article", { class: "card" }, element("h3", {}, title), place);
  };
  byId("calibration-cards").replaceChildren(
    card("Predictions beside the truth", () => truthDrawing(points, target), `${points.length} of the rows given; on the line a prediction is right.`),
    ...(calibration ? [card("Calibration", () => calibrationDrawing(calibration, told.evidence.rows, target), "How many rows lie below each predicted quantile. Inside the band the gaps are what chance alone would give.")] : []),
  );
}

function showFit(k) {
  const { figures, curves, text } = told.fit, bayesian = Object.keys(figures).length > 0;
  const words = {
    prediction_rhat: "R-hat of predictions (near 1: chains agree)",
    noise_rhat: "R-hat of the noise",
    smoothness_rhat: "R-hat of the smoothness",
    prediction_effective_draws: "Independent draws that predictions are worth",
    prediction_error: "Monte Carlo error of predictions, in standard deviations of the target",
    drift: "Drift of the noise over the kept sweeps, likewise",
  };
  const rows = Object.entries(words).filter(([name]) => figures[name] !== undefined).map(([name, what]) => element("tr", {}, element("th", { scope: "row" }, what), element("td", { class: "number" }, figures[name] === null ? "–" : formatNumber(figures[name], 3))));
  const table = rows.length ? [element("table", { class: "figures" }, element("caption", { class: "hidden" }, "Convergence of the chains"), element("tbody", {}, ...rows))] : [];
  const what = bayesian ? `Scale of the noise in ${told.targets[k]}` : "Objective";
  const place = element("div", { class: "drawing" });
  lazy.add(place, () => [courseDrawing(curves, k, what)]);
  byId("fit-story").replaceChildren(
    element("article", { class: "card" }, element("h3", {}, `${what} after every sweep`), place),
    element("article", { class: "card" }, element("h3", {}, bayesian ? "Have the chains forgotten their starts?" : "Are the factors unique?"), ...table, element("p", { class: "note" }, text || "R-hats compare the chains of one prior. Chains of a tensor often settle on different noise; what counts is that their predictions agree.")),
  );
}

function chooseTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").setAttribute("aria-pressed", String(theme === "dark"));
}

function prepareTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  chooseTheme(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => chooseTheme(dark.matches ? "dark" : "light"));
  byId("theme").addEventListener("click", () => chooseTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
}

async function main() {
  prepareTheme();
  showFacts();
  if (!told.evidence) for (const node of document.querySelectorAll("[data-needs=evidence]")) node.hidden = true;
  const began = performance.now();
  const model = new Model(told.model, told.targets.length, await Arrays.ofPage());
  const whatIf = new WhatIf(model, told, byId("what-if-panel"));
  const table = new PredictorTable(model, told.shares, byId("predictor-table"));
  const output = byId("output");
  output.append(...told.targets.map((target, k) => element("option", { value: k }, target)));
  byId("output-choice").hidden = told.targets.length < 2;
  const show = () => {
    const k = Number(output.value);
    showFigures(k);
    whatIf.choose(k);
    table.show(k);
    showEffects(model, k);
    showAdditivity(k);
    showPairs(model, k);
    showCalibration(k);
    showFit(k);
  };
  output.addEventListener("change", show);
  byId("same-scale").addEventListener("change", () => showEffects(model, Number(output.value)));
  byId("beyond").addEventListener("change", () => showPairs(model, Number(output.value)));
  show();
  window.csid = { model, whatIf, milliseconds: performance.now() - began };
  byId("main").removeAttribute("aria-busy");
}

main().catch((error) => {
  const old = typeof DecompressionStream === "undefined";
  byId("trouble").hidden = false;
  byId("trouble").textContent = old
    ? "This browser cannot unpack the model (it lacks DecompressionStream): open the page in a browser of 2023 or later."
    : `The page could not be shown: ${error.message}`;
  if (!old) throw error;
});
