// The page of `vernier verify`: the verdict, what does the damage, what engines make of the file, and the figures.
nextSteps(page.steps);

const defects = report.defects || [];
const figures = report.engine ? report.engine.figures : report.figures;

(function headline() {
  const tone = figures.passed === undefined ? "" : figures.passed ? "good" : "bad";
  const list = [];
  if (figures.outputs.length) list.push(figureCard(report.engine ? "On " + shown(report.engine.engine) : "Compared with the reference", page.words.figure, page.words.required, tone));
  list.push(agreementCard(figures, ""));
  list.push(card("Findings", defects.length ? count(defects.length) : "none", page.words.findings));
  const engines = report.placements || [];
  if (engines.length) list.push(card("Engines", `${engines.filter(row => !row.refused && !row.not_fused).length} of ${engines.length}`, "can fuse all its Q/DQ pairs, by published rules"));
  cards(list);
})();

/** One finding: what it is, where, and the cure. */
function finding(defect) {
  return h("div", {class: "cause"},
    h("div", {class: "head"}, h("b", {}, shown(defect.kind.replace(/-/g, " "))), name(defect.node), defect.refused ? h("span", {class: "tag hot"}, "refused by engines") : ""),
    h("p", {}, shown(defect.text)), defect.cure ? h("p", {class: "small"}, "Fix: " + shown(defect.cure)) : "");
}

(function why() {
  if (!defects.length) return;
  const atFirst = 20, rest = defects.slice(atFirst);
  section("why", "Findings", "Found in the file, or measured layer by layer against the float model" + (report.examined && report.examined < report.samples ? `, on ${report.examined} of the ${many(report.samples, "sample")}` : "") + ".", h("div", {class: "causes"}, defects.slice(0, atFirst).map(finding)),
    rest.length ? h("details", {}, h("summary", {}, `and ${many(rest.length, "more finding")}`), rest.map(finding)) : "");
})();

(function engines() {
  const rows = page.words.placements || [];
  if (!rows.length) return;
  section("placement", "How engines handle it", page.words.placement_evidence,
    scrolling("Engines", h("table", {}, h("thead", {}, h("tr", {}, ["engine", "its Q/DQ pairs"].map(t => h("th", {scope: "col"}, t)))),
      h("tbody", {}, rows.map(row => h("tr", {}, h("td", {class: "whole"}, row.target), h("td", {class: "breaks"}, h("span", {class: row.fused ? "good" : null}, row.fused ? "\u2713 " : ""), shown(row.text))))))));
})();
engineSection(report.compiled);

figuresSection([[report.engine ? "simulated" : "the tested model", report.figures], [sumsText(report.other_sums), (report.other_sums || {}).figures], ["on the engine", (report.engine || {}).figures]],
  `Compared with ${shown(report.float_file)} over all samples, which count from 0.`);

(function exact() {
  const rows = report.exact_outputs || [];
  if (!rows.length) return;
  section("exact", "Outputs compared exactly", "Integers and Booleans, which have no SQNR.", h("ul", {class: "plain"}, rows.map(row =>
    h("li", {}, name(row.name), ` (${shown(row.what)}): equal in ${count(row.equal)} of ${many(row.samples, "sample")}`))));
})();

(function worst() {
  const rows = layers.filter(row => has(row.sqnr_db)).sort((a, b) => number(a.sqnr_db) - number(b.sqnr_db));
  if (!rows.length) return;
  const columns = [{title: "layer", cell: row => [layerName(row.name), row.graph ? " in " + shown(row.graph) : ""]}, {title: "operator", cell: row => shown(row.op_type)},
    {title: "format", kind: "whole", cell: row => formatTitle(row.format)}, {title: "SQNR, dB", kind: "num", cell: row => db(row.sqnr_db)}];
  const missing = report.not_compared || [];
  section("layers", "Layers", "Largest error at their outputs first: local and propagated error together.",
    tableOf("Layers", columns, rows, {atFirst: 30}),
    missing.length ? h("details", {class: "small"}, h("summary", {}, `${many(missing.length, "layer")} not compared`), h("ul", {class: "plain"}, missing.map(t => h("li", {}, shown(t))))) : "");
})();

notesSection(report.warnings || [], report.notes || []);

reproduceSection([
  ["Reference", fileLine(report.float_file, report.float_sha256)], ["Tested", fileLine(report.typed_file, report.typed_sha256)],
  ["Data", shown(report.data)], ["", report.random_data ? h("span", {class: "warn"}, "Random inputs show whether the model runs, not how accurate it is.") : ""],
  ["Runner", "simulated from the casts and quantize/dequantize pairs of the file"], ["Requirement", page.words.requirement ? shown(page.words.requirement) : "none"]]);

offerMarkdown(markdownText([...markdownHead(),
  ...(defects.length ? ["### Findings", defects.map(defect => `- **${markdownCell(defect.kind)}**, ` + markdownCode(defect.node) + ": " + markdownCell(shown(defect.text)) + (defect.cure ? ". Fix: " + markdownCell(shown(defect.cure)) : "")).join("\n")] : []),
  ...((page.words.placements || []).length ? ["### How engines handle it", markdownTable(["engine", "its Q/DQ pairs"], page.words.placements.map(row => [row.target, shown(row.text)].map(markdownCell)))] : []),
  ...page.steps.filter(step => step.command).flatMap(step => [markdownCell(step.advice), "```sh\n" + shown(step.command) + "\n```"]),
  ...markdownEnd("")]));
