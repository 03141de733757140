// The page: the model is unpacked, and all sections show the chosen output.

const byId = (id) => document.getElementById(id);

function chooseTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").setAttribute("aria-pressed", String(theme === "dark"));
}

function prepareTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)"), preferred = () => (dark.matches ? "dark" : "light");
  const other = () => (document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  chooseTheme(preferred());
  dark.addEventListener("change", () => chooseTheme(preferred()));
  byId("theme").addEventListener("click", () => chooseTheme(other()));
}

async function main() {
  const told = JSON.parse(byId("document").textContent), began = performance.now();
  prepareTheme();
  showFacts(told);
  if (!told.evidence) for (const node of document.querySelectorAll("[data-needs=evidence]")) node.hidden = true;
  const model = new Model(told.model, told.targets.length, await Arrays.ofPage());
  const whatIf = new WhatIf(model, told, byId("what-if-panel"));
  const table = new PredictorTable(model, told.shares, byId("predictor-table"));
  const lazy = new Lazy(), output = byId("output"), chosen = () => Number(output.value);
  output.append(...told.targets.map((target, k) => element("option", { value: k }, target)));
  byId("output-choice").hidden = told.targets.length < 2;
  const show = () => {
    const k = chosen();
    showFigures(told, k);
    whatIf.choose(k);
    table.show(k);
    showEffects(model, told, k, lazy);
    showAdditivity(told, k);
    showPairs(model, told, k, lazy);
    showCalibration(told, k, lazy);
    showFit(told, k, lazy);
  };
  output.addEventListener("change", show);
  byId("same-scale").addEventListener("change", () => showEffects(model, told, chosen(), lazy));
  byId("beyond").addEventListener("change", () => showPairs(model, told, chosen(), lazy));
  addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((details) => (details.open = true)));
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
