// Classes seen (down) and predicted (across), as a heat map with numbers.

const CONFUSION = { least: 13, usual: 44, most: 84, few: 240, all: 620 }; // pixels of a cell, and of all together
const DARKEST = 0.4; // so that numbers can be read on all colours

function confusionMap({ labels, counts }, fractions, size) {
  const n = labels.length, { width } = size;
  const names = labels.map((label) => fitted(label, 0.25 * width));
  const left = widest(names) + AXIS.tick + 2, room = (width - left - 4) / n;
  const wanted = Math.max(CONFUSION.usual, Math.min(CONFUSION.most, CONFUSION.few / n));
  const side = Math.max(CONFUSION.least, Math.min(room, wanted, CONFUSION.all / n));
  const wide = Math.min(room, 2.4 * side), top = AXIS.above + 4, bottom = top + side * n, right = left + wide * n;
  const sums = counts.map((row) => row.reduce((a, b) => a + b, 0));
  const same = counts.reduce((sum, row, i) => sum + row[i], 0);
  const share = (i, j) => (sums[i] ? counts[i][j] / sums[i] : 0);
  const most = Math.max(1, ...counts.flat()), depth = (i, j) => (fractions ? share(i, j) : counts[i][j] / most);
  const text = (i, j) => (fractions ? percentOf(share(i, j)) : counts[i][j].toLocaleString("en-US"));
  const at = (i, j) => [left + wide * (j + 0.5), top + side * (i + 0.5)];
  const numbered = widest(counts.flatMap((row, i) => row.map((_, j) => text(i, j)))) + 4 <= wide && side >= 15;
  const cells = counts.flatMap((row, i) =>
    row.flatMap((count, j) => {
      const [from, to] = [Math.round(left + wide * j), Math.round(left + wide * (j + 1))];
      const [over, under] = [Math.round(top + side * i), Math.round(top + side * (i + 1))];
      const cell = drawn("rect", { class: "cell", x: from, y: over, width: to - from, height: under - over });
      cell.style.fill = heat(DARKEST * depth(i, j), false);
      const [x, y] = at(i, j);
      return numbered && count ? [cell, label(x, y + 4, text(i, j), "middle", { class: "name" })] : [cell];
    }),
  );
  const across = labels.map((name) => fitted(name, wide - 6)), legible = across.every((name, j) => name === labels[j] || wide > 44);
  const svg = drawing(
    width, bottom + AXIS.beside + AXIS.name,
    `Confusion matrix of ${counted(n, "class", "classes")}: ${counted(same, "row")} on the diagonal, where both are the same.`,
    label(0, AXIS.text, "class seen", "start", { class: "name" }),
    ...cells,
    ...names.map((name, i) => label(left - AXIS.tick, at(i, 0)[1] + 4, name, "end", { class: "scale" })),
    ...(legible ? across.map((name, j) => label(at(0, j)[0], bottom + AXIS.beside - 4, name, "middle", { class: "scale" })) : []),
    label((left + right) / 2, bottom + AXIS.beside + AXIS.name - 6, "class predicted", "middle", { class: "name" }),
  );
  const readings = () =>
    counts.flatMap((row, i) =>
      row.map((count, j) => {
        const [x, y] = at(i, j), of = `${percentOf(share(i, j))} of ${counted(sums[i], "row")} of ${shortened(labels[i], 20)}`;
        return { x, y, words: [`${shortened(labels[i], 20)} predicted as ${shortened(labels[j], 20)}`, counted(count, "row"), of] };
      }),
    );
  return [readable(svg, readings)];
}

const percentOf = (share) => `${Math.round(100 * share)}\u00a0%`;
