// The page, from the answer down to how to make it again.

/** How a search ended (KeptSetReport::end), for people. */
const ENDS = {
  "certified": "No kept layer can be left out.",
  "found": "The set passes, but no layer of it was dropped for a test.",
  "nothing-needed": "No layer is kept.",
  "impossible": "Even with every layer kept the requirement is missed.",
  "stopped": "The search was stopped early.",
  "unstable": "The same test had different answers, so the set is not proven.",
};

function certificateTable(rows) {
  const outputs = rows.some(row => row.output), bounds = rows.some(row => has(row.on_samples));
  return tableOf("Certificate", [{title: report.kept.ladder ? "with" : "without", cell: row => h("span", {}, layerLink(row.layer), row.lowered_to ? " in " + formatTitle(row.lowered_to) : "")}, ...(outputs ? [{title: "output", cell: row => row.output}] : []),
    ...(bounds ? [{title: "on these samples", kind: "num", cell: row => without(row).on_samples}] : []),
    {title: page.words.certified_figure, kind: "num", cell: row => without(row).result},
    {title: "of the allowed error", kind: "num", cell: row => without(row).used}], rows, {atFirst: 12});
}

/** With its full stop. */
function sentence(text) { return shown(text) + (text.endsWith(".") ? "" : "."); }

(function kept() {
  const k = report.kept;
  if (!k) return;
  const children = [];
  if (k.certified && k.layers.length) children.push(h("p", {}, k.not_cheaper ? "Certified by cost: dropping a kept layer either misses the requirement or saves nothing." : k.ladder ? "Certified: lowering any raised layer by one format misses the requirement."
    : "Certified: dropping any kept layer misses the requirement. Each was tested."));
  else if (k.layers.length) children.push(h("p", {}, k.ladder ? "Not certified: the search ended before it had lowered each raised layer by one format." : "Not certified: the search ended before it had dropped each kept layer once."));
  const chart = keptCurve();
  const set = k.certificate && k.certificate.length ? certificateTable(k.certificate)
    : k.layers.length ? h("p", {}, k.layers.slice(0, 60).map(layer => [layerLink(layer), " "]), k.layers.length > 60 ? `and ${k.layers.length - 60} more` : "") : null;
  if (chart || set) children.push(h("div", {class: "pair"}, chart, set));
  if (page.words.cost && (k.cost_unit !== "layers" || k.ladder)) children.push(h("p", {class: "small"}, `Cost: ${page.words.cost}.`));
  if (has(k.lower_bound)) children.push(h("p", {class: "small"}, `No set that passes costs less than ${plain(number(k.lower_bound) + number((k.ladder || {}).cost_of_lowest || 0))}, if the network is monotone.`));
  if (k.pareto && k.pareto.length > 3) { // two or three dots say less than the numbers above
    const front = scatter(k.pareto.map(p => [number(p.cost), number(p.metric), p.front]), `cost in ${shown(k.cost_unit || "layers")}`, (page.curve || {}).on_new ? `${page.words.metric}, ${page.words.certified_figure}` : page.words.metric);
    if (front) children.push(h("h3", {}, "Accuracy against cost"), front);
  }
  children.push(h("p", {class: "small"}, [`${many(k.evaluations, "evaluation")} of all samples.`, ENDS[k.end] || shown(k.end) + ".", k.mode && k.mode !== "minimal" ? `Search: ${shown(k.mode)}.` : "", ...(k.assumed || []).map(sentence)].filter(Boolean).join(" ")));
  for (const text of k.notes || []) children.push(h("p", {class: "small"}, shown(text)));
  section("kept", "Kept set", "", children);
})();

(function curve() {
  const chart = report.kept ? null : predictedCurve();
  if (chart) section("curve", "SQNR by number of kept layers", "Predicted from the sensitivities of single layers.", chart);
})();

(function causes() {
  const all = explanation.causes || [];
  const ordinary = page.words.only_rounding;
  if (!all.length && !(explanation.repairs || []).length && !ordinary) return;
  const groups = page.words.causes || [];
  const children = ordinary ? [h("p", {}, ordinary)] : [h("div", {class: "causes"}, groups.map(causeGroup))];
  if (groups.filter(group => group.share > 0).length > 1) children.push(h("p", {class: "small"}, "A layer may have several causes, so these shares overlap."));
  const tried = explanation.repairs || [], worth = (explanation.proposals || []).filter(id => id !== "keep-high");
  if (worth.length) children.push(chipLine(tried.length ? "Not tried yet: " : "vernier fix would try: ", worth));
  if (tried.length) children.push(h("h3", {}, "Repairs tried"), repairSummary(tried));
  const harmless = !report.repaired && report.kept && report.kept.end === "nothing-needed";
  if (!all.length) section("why", "Why", ordinary ? "" : "No cause was found.", children);
  else section("why", harmless ? "Found, but harmless in this model" : "Why", harmless ? "The requirement is met without kept layers." : `${groups.length && !groups[0].sure ? "Possible causes" : "Causes"}${report.repaired ? " before the repairs" : ""} with their figures${examinedText()}.`, children);
})();

/** "", or in how many of the samples the causes were looked for. */
function examinedText() {
  return explanation.samples > 0 && explanation.samples < report.samples ? `, examined on ${explanation.samples} of the ${many(report.samples, "sample")}` : "";
}

(function depth() {
  const chart = depthChart(select);
  if (chart) section("depth", anyShares ? "Damage over depth" : "Error over depth", "The local error of each layer, and how it propagates to the output.", chart);
})();
(function drawing() {
  const made = networkDrawing(select);
  if (made) section("network", "The network", `Layers are coloured by ${anyShares ? "damage" : "local error"}; consecutive harmless layers share a box.`, made);
})();

if (layers.length) {
  section("layers", "Layers", (anyShares ? "Most damaging first." : "Largest local error first.") + " Choose one to see its values in FP32 and in low precision, and its range.", layerTable());
  openPanel(layers[0].name);
}

/** Of the run that the page answers with. */
(function samples() {
  const run = report.final_figures || report.repaired || report.all_low || {};
  const outputs = (run.outputs || []).filter(o => (o.worst_samples || []).length).slice(0, 4);
  if (!outputs.length) return;
  const tables = outputs.map(o => {
    const finite = o.worst_samples.map(s => number(s.sqnr_db)).filter(Number.isFinite);
    const least = Math.min(...finite), classes = o.worst_samples.some(s => has(s.top1_agreement));
    const pictures = new Map((report.sample_pictures || []).map(p => [p.sample, p]));
    const picture = s => pictures.has(s.sample) ? h("img", {class: "sample", src: "data:image/png;base64," + pictures.get(s.sample).png, alt: `${pictures.get(s.sample).input} of sample ${s.sample}`}) : "";
    const heads = [...(pictures.size ? [["as the network reads it", null]] : []), ["sample", "num"], ["SQNR, dB", "num"], ["error: longer is worse", null], ...(classes ? [["class", null]] : [])];
    const verdict = s => s.top1_agreement === 1 ? h("span", {class: "good"}, "\u2713 same") : h("span", {class: "bad"}, s.top1_agreement === 0 ? "\u2715 another" : `\u2715 ${percent(1 - s.top1_agreement)} differ`);
    return h("div", {}, outputs.length > 1 ? h("h3", {}, name(o.name)) : "", scrolling("Worst samples", h("table", {}, h("thead", {}, h("tr", {}, heads.map(([t, kind]) => h(t ? "th" : "td", {scope: t ? "col" : null, class: kind}, t)))),
      h("tbody", {}, o.worst_samples.map(s => h("tr", {}, pictures.size ? h("td", {}, picture(s)) : null, h("td", {class: "num"}, "#" + s.sample), h("td", {class: "num"}, db(s.sqnr_db)), h("td", {class: "bars-of"}, Number.isFinite(number(s.sqnr_db)) ? h("i", {class: "meter", style: `width:calc(min(160px, 26vw) * ${(10 ** ((least - number(s.sqnr_db)) / 20)).toFixed(3)})`}) : ""),
        classes ? h("td", {class: "whole"}, verdict(s)) : null))))));
  });
  section("samples", "Worst samples", `Of ${report.final_figures ? "the output model" : report.repaired ? "the repaired network" : "everything in " + low}. Look for common properties. Samples count from 0, in the order of ${shown(report.data)}.`, h("div", {class: "pair"}, tables));
})();

figuresSection([["FP32 after preparation", report.reference], [`all kept in ${formatTitle(report.high)}`, report.all_high], ["all " + low, report.all_low], ["with the repairs", report.repaired], [page.words.model + (report.in_sample ? ", on new samples" : ""), report.final_figures], [page.words.model + ", on these samples", report.in_sample], ["on " + (report.engine || {}).engine, (report.engine || {}).figures], [sumsText(report.other_sums), (report.other_sums || {}).figures]],
  "Compared with the FP32 model over all samples, which count from 0.");

(function latency() {
  const l = report.latency;
  if (!l) return;
  const rows = [["FP32", l.float_ms], ["all " + low, l.low_ms], [page.words.model, l.repaired_ms]].filter(r => has(r[1]));
  const most = Math.max(...rows.map(r => r[1]), 1e-9);
  section("latency", "Latency", l.engine ? `One sample on ${shown(l.engine)}, median.` : `One sample on ONNX Runtime's own kernels, ${many(l.threads, "thread")}, median.`,
    h("table", {}, h("thead", {}, h("tr", {}, ["model", "time, ms", "speed-up"].map((t, i) => h("th", {scope: "col", class: i ? "num" : null}, t)), h("td", {}))), h("tbody", {}, rows.map(([label, ms], i) => h("tr", {}, h("td", {}, label), h("td", {class: "num"}, milliseconds(ms)), h("td", {class: "num"}, has(l.float_ms) && ms > 0 ? (l.float_ms / ms).toFixed(2) + "x" : ""), h("td", {class: "bars-of"}, h("i", {class: "meter" + (i || !has(l.float_ms) ? "" : " float"), style: `width:${(100 * ms / most).toFixed(1)}%`})))))),
    l.note ? h("p", {class: "small"}, shown(l.note)) : "");
})();

engineSection(report.compiled);

notesSection(report.warnings || [], [...(report.notes || []), ...((report.typed && report.typed.notes) || [])]);

reproduceSection([
  ["Model", fileLine(report.model_file, report.model_sha256)],
  ["Data", [shown(report.data), report.data_sha256 ? h("div", {class: "small"}, "sha256 " + shown(report.data_sha256)) : ""]],
  ["", report.random_data ? h("span", {class: "warn"}, "Random inputs show whether the model runs, not how accurate it is.")
    : page.words.same_samples ? h("span", {class: "warn"}, "The ranges were calibrated on these same samples.") : ""],
  ["Scheme", shown(page.words.scheme)], ["Runner", shown(page.words.runner)], ["Requirement", page.words.requirement ? shown(page.words.requirement) : "none"]]);

openFromAddress();
