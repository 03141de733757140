// What sections are made from: each registers itself, and the page shows those that the document has data for.
//
//   registerSection("name", {
//     link: "in the navigation",
//     title: "its heading", text: "the paragraph below" or a function of the report; both may be left out,
//     create: (report, place, data) => an object with `show(k)`, which shows output k in the place,
//   });
//
// The report has the model, the document as `doc`, and `lazy`; data is what the section has in the document.

const registered = new Map();

const registerSection = (name, section) => registered.set(name, section);

// The nodes of all sections in the page, and their views by name.
function createSections(report, links, place) {
  const views = {};
  for (const [name, data] of Object.entries(report.doc.sections)) {
    const { link, title, text, create } = registered.get(name), id = name.replaceAll("_", "-");
    const words = typeof text === "function" ? text(report) : text;
    const body = element("div");
    const heading = title ? element("h2", { id: `${id}-title` }, title) : null;
    const label = title ? { "aria-labelledby": `${id}-title` } : { "aria-label": link };
    place.append(element("section", { id, ...label }, heading, words ? element("p", {}, words) : null, body));
    links.append(element("a", { href: `#${id}` }, link));
    views[name] = create(report, body, data);
  }
  return views;
}

const card = (heading, share, ...children) => {
  const words = share === null ? [] : [element("span", { class: "share" }, formatShare(share))];
  const name = element("span", { class: "heading", title: heading }, heading);
  return element("article", { class: "card" }, element("h3", {}, name, ...words), ...children);
};

const note = (text) => element("p", { class: "note" }, text);

// A check box in a toolbar, which redraws.
function checkBox(id, words, changed) {
  const box = element("input", { type: "checkbox", id, on: { change: changed } });
  return [box, element("p", { class: "toolbar" }, element("label", { class: "tick" }, box, ` ${words}`))];
}

// Predictors by their total Sobol index for an output, the largest first.
function byImportance({ sobol: { total } }, k) {
  return total.map((_, n) => n).sort((a, b) => total[b][k] - total[a][k] || a - b);
}

// What Sobol indices are shares of.
const varying = ({ classes }) => (classes ? "latent value of the class" : "prediction");
