// What the pages of several jobs have alike: the advice under the answer, cards, figures of runs, notes, the record.
function nextSteps(steps) {
  if (!steps.length) return;
  document.getElementById("advice").append(h("dl", {class: "record first"}, h("dt", {}, "Next"),
    h("dd", {}, steps.map(step => [step.advice ? h("p", {}, withFiles(step.advice)) : "", step.command ? command(step.command) : ""]))));
}

function card(what, big, more, tone) {
  const mark = {good: "\u2713 ", bad: "\u2715 "}[tone]; // not by colour alone
  return h("div", {class: "card"}, h("div", {class: "what"}, what), h("div", {class: "big" + (tone ? " " + tone : "")}, mark ? h("span", {"aria-hidden": "true"}, mark) : "", big), more ? h("div", {class: "more"}, more) : "");
}
function cards(list) { document.getElementById("place-cards").append(h("div", {class: "cards"}, list.filter(Boolean))); }
/** "43.8 dB at output 'scores'": the figure is large, where it was measured is not. */
function figureCard(what, text, more, tone) {
  const [, big, where] = /^(.*?)( at output .*)?$/s.exec(text);
  return card(what, big, [where, more].filter(Boolean).join(", ").trim(), tone);
}

/** Of a run's outputs the least share of largest classes that are the float model's, with its interval. */
function agreementOf(run) {
  const outputs = ((run && run.outputs) || []).filter(o => has(o.top1_agreement));
  return outputs.sort((a, b) => a.top1_agreement - b.top1_agreement)[0];
}
/** `before`: in words, what it was in another run; "" where there is none. */
function agreementCard(run, before) {
  const least = agreementOf(run);
  if (!least) return null;
  const between = least.top1_agreement_95_percent;
  return card("Top-1 agreement", percent(least.top1_agreement), [
    between && between.low < between.high ? `95 % confidence: ${percent(between.low)} to ${percent(between.high)}` : "", before].filter(Boolean).join("; "));
}

/** Rows of [run in words, its figures]; those without outputs are left out. */
function figuresSection(runs, lead) {
  const shownRuns = runs.filter(r => r[1] && (r[1].outputs || []).length);
  if (!shownRuns.length) return;
  const top1 = shownRuns.some(r => r[1].outputs.some(o => has(o.top1_agreement)));
  const lostIn = o => o.nonfinite + (o.lost_infinities || 0);
  const lost = shownRuns.some(r => r[1].outputs.some(lostIn));
  const rows = shownRuns.flatMap(([label, run]) => run.outputs.map((o, i) => ({label: i ? "" : label, o})));
  const columns = [{title: "run", cell: row => row.label}, {title: "output", cell: row => name(row.o.name)}, {title: "SQNR, dB", kind: "num", cell: row => db(row.o.sqnr_db)},
    {title: "worst sample, dB", kind: "num", cell: row => db(row.o.worst_sqnr_db)}, {title: "which", kind: "num", cell: row => "#" + row.o.worst_sample}, {title: "largest error", kind: "num", cell: row => plain(row.o.max_abs_error, 3)},
    {title: "cosine", kind: "num", cell: row => row.o.nonfinite > 0 ? "" : cosine(row.o.cosine)},
    ...(top1 ? [{title: "top-1 agreement, %", kind: "num", cell: row => has(row.o.top1_agreement) ? percentAlone(row.o.top1_agreement) : ""}] : []),
    ...(lost ? [{title: "not finite", kind: "num", cell: row => lostIn(row.o) ? lostIn(row.o).toLocaleString("en-US") : ""}] : [])];
  section("figures", "Figures", lead, tableOf("Figures of each run", columns, rows, {atFirst: 40}));
}
function sumsText(other) { return (other || {}).accumulate === "float16" ? "FP16 accumulation" : "FP32 accumulation"; }

function notesSection(warnings, notes) {
  if (!warnings.length && !notes.length) return;
  section("notes", notes.length ? "Warnings and notes" : "Warnings", "", warnings.length ? h("ul", {class: "plain warn"}, warnings.map(t => h("li", {}, shown(t)))) : "",
    notes.length ? h("ul", {class: "plain"}, notes.map(t => h("li", {}, shown(t)))) : "");
}

/** A file with the hash of what it held. */
function fileLine(file, sha256) { return [name(file), sha256 ? h("div", {class: "small"}, "sha256 " + shown(sha256)) : ""]; }
/** How to make the page again: `lines` of [what, value], then what every report has. */
function reproduceSection(lines) {
  const record = h("dl", {class: "record"});
  const phases = new Map();  // a step that was taken twice is one to a reader
  for (const p of report.phases || []) phases.set(p.phase, (phases.get(p.phase) || 0) + p.seconds);
  const total = [...phases.values()].reduce((sum, seconds) => sum + seconds, 0);
  const all = [...lines,
    ["Versions", [["vernier", report.vernier_version], ["ONNX Runtime", report.onnxruntime_version], ["onnx", report.onnx_version]].filter(v => v[1]).map(v => v[0] + " " + shown(v[1])).join(", ")],
    ["Machine", shown(report.machine)],
    ["Time", total ? `${plain(total, 3)} s: ` + [...phases].filter(([, seconds]) => seconds >= total / 100).map(([phase, seconds]) => `${shown(phase)} ${plain(seconds, 2)}`).join(", ") : ""],
    ["Files", Object.entries(report.files || {}).map(([what, file]) => h("div", {}, what + ": ", fileLink(file)))]];
  for (const [what, value] of all) if (value) record.append(h("dt", {}, what), h("dd", {}, value));
  section("reproduce", "Reproduce", "", report.command ? command(report.command) : "", record);
}
