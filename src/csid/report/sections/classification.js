// How good predicted classes are: reliability, confusions, ROC and precision-recall curves.

registerSection("classification", {
  link: "Calibration",
  title: "Predicted and observed classes",
  text: ({ doc }) => `On the ${counted(doc.sections.classification.rows, "row")} given to this report.`,
  create: (report, place, data) => new ClassPlots(report, place, data),
});

const MOST_IN_A_COLUMN = 12; // classes of a confusion matrix

class ClassPlots {
  constructor(report, place, data) {
    Object.assign(this, { report, data });
    this.cards = element("div", { class: "cards wide", id: "classification-cards" });
    const [box, toolbar] = checkBox("confusion-fractions", "As fractions of each class seen", () => this.#showConfusions());
    this.fractions = box;
    this.confusions = element("div", {});
    this.confusionCard = card("Confusion matrix", null, toolbar, this.confusions);
    this.confusionCard.classList.toggle("whole", data.confusions.labels.length > MOST_IN_A_COLUMN);
    place.append(this.cards);
  }

  show(k) {
    const { data, report: { doc, lazy } } = this, label = doc.targets[k], plots = [];
    const plot = (heading, make) => plots.push(card(heading, null, lazy.place("drawing tall", make)));
    plot(`Reliability of ${label}`, (size) => [
      reliabilityPlot(data.reliability[k], [`predicted probability of ${label}`, "observed frequency"], size),
      note(RELIABILITY),
    ]);
    if (data.confidence) {
      plot("Reliability of the predicted class", (size) => [
        reliabilityPlot(data.confidence, ["probability of the predicted class", "accuracy"], size),
        note("The probability of the likeliest class, and how often it is the class seen."),
      ]);
    }
    plots.push(this.confusionCard);
    this.#showConfusions();
    const { roc, precision_recall: precision } = data, rate = data.rows_of_class[k] / data.rows;
    const curve = (heading, found, names, guess, what) => {
      if (!found) return plots.push(card(heading, null, note(`${rate ? "All rows are" : "No row is"} of class ${label}.`)));
      return plot(heading, (size) => [ratesPlot(found, names, guess, size), note(areaWords(what, found, doc, label))]);
    };
    curve(`ROC curve of ${label}`, roc[k], ["false positive rate", "true positive rate"], [[0, 0], [1, 1]], "Area under the curve");
    curve(`Precision and recall of ${label}`, precision[k], ["recall", "precision"], [[0, rate], [1, rate]], "Average precision");
    this.cards.replaceChildren(...plots);
  }

  #showConfusions() {
    const { data, report: { lazy } } = this, fractions = this.fractions.checked;
    this.confusions.replaceChildren(lazy.place("drawing tall", (size) => confusionMap(data.confusions, fractions, size)));
  }
}

const RELIABILITY =
  "Rows in bins of their predicted probability: on the dashed line, calibration is perfect. The bars show where 95\u00a0% of " +
  "the frequencies of a calibrated model are; large dots stand for many rows.";

const areaWords = (what, { area }, { targets }, label) =>
  `${what}: ${formatNumber(area, 3)}${targets.length > 2 ? `, for ${label} against all other classes` : ""}. Dashed: guessing.`;
