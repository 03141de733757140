// The page: unpack the model, and show the chosen output in all sections.

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
  const doc = JSON.parse(byId("document").textContent), began = performance.now();
  prepareTheme();
  const model = new (doc.classes ? ClassModel : Model)(doc.model, doc.targets.length, await Arrays.ofPage());
  const views = createSections({ model, doc, lazy: new Lazy() }, byId("links"), byId("sections"));
  const output = byId("output");
  output.append(...doc.targets.map((target, k) => element("option", { value: k }, target)));
  if (doc.classes) {
    byId("output-name").textContent = "Class";
    output.value = doc.targets.length === 2 ? 1 : 0;
  }
  byId("output-choice").hidden = doc.targets.length < 2;
  const show = () => Object.values(views).forEach((view) => view.show(Number(output.value)));
  output.addEventListener("change", show);
  show();
  window.csid = { model, whatIf: views.what_if, milliseconds: performance.now() - began };
  byId("main").removeAttribute("aria-busy");
}

main().catch((error) => {
  const old = typeof DecompressionStream === "undefined";
  byId("trouble").hidden = false;
  byId("trouble").textContent = old
    ? "This browser cannot unpack the model, because it lacks DecompressionStream. Use a browser from 2023 or later."
    : `The page cannot be shown: ${error.message}`;
  if (!old) throw error;
});
