// Under the answer: before and after, the figures that one look should find, and what to do next.
const low = page.words.low;

/** The answer in four parts: the sentence above says whether it is good enough; then what breaks it, why, what to do. */
(function parts() {
  const first = page.words.first || {}, list = h("dl", {class: "record first"});
  const add = (title, rows) => { if (rows.length) list.append(h("dt", {}, title), h("dd", {}, rows.map(row => h("div", {}, row)))); };
  add(first.damage_of ? `Damage, ${first.damage_of.toLowerCase()}` : "Damage", (first.damage || []).map(row => [h("b", {class: "share"}, row.share), " ", row.layer ? layerLink(row.layer) : row.others, row.kept_in ? `, kept in ${row.kept_in}` : ""]));
  add("Why", (first.why || []).map(row => [row.layer ? layerLink(row.layer) : "The network", row.possible ? ", possibly: " : ": ", shown(row.text)]).concat(page.words.only_rounding ? [[page.words.only_rounding]] : []));
  if (list.childElementCount) document.getElementById("place-parts").append(list);
})();
nextSteps(page.steps);

/** In steps: everything low, repaired, the output model, and the best option where it is another. */
function steps() {
  const tone = run => !run || run.passed === undefined || report.reference_from_file ? "" : run.passed ? "good" : "bad";
  const margins = page.words.margins || {}, list = [];
  const step = (what, which, run) => list.push({what, text: page.words[which], more: margins[which] || page.words.required, tone: tone(run)});
  const sameFile = report.final_figures && !report.repaired && report.kept && report.kept.end === "nothing-needed";
  if (report.all_low.outputs.length && !sameFile) step(`Before: everything in ${page.words.everything}`, "all_low", report.all_low);
  if (report.repaired) step("Repaired, nothing kept", "repaired", report.repaired);
  if (report.final_figures) step((sameFile ? "" : "After: ") + (sameFile ? page.words.model.replace("the", "The") + `: everything in ${page.words.everything}` : page.words.model), "final", report.final_figures);
  const options = page.words.options || [], best = options.find(row => row.best);
  if (best && best.answer && options.length > 1 && report.final_figures) list[list.length - 1].more += `; the best of ${many(options.length, "measured option")}`;
  if (best && !best.answer) {
    list.push({what: `Best option: ${best.option}`, text: best.result, more: [best.bound ? `bound on new samples: ${best.bound}` : "", best.kept ? `${best.kept} layers kept` + (best.work ? `, ${best.work} of the work` : "") : best.end, best.worse].filter(Boolean).join("; "), tone: best.end.startsWith("met") ? "good" : "", option: true});
  }
  return list;
}
(function headline() {
  const taken = steps(), list = [];
  if (taken.length) {
    document.getElementById("place-strip").append(h("div", {class: "cards strip"}, taken.map(step => { const made = figureCard(step.what, step.text, step.more, step.tone); if (step.option) made.classList.add("option"); return made; })));
  }
  const judged = report.final_figures || report.repaired || report.all_low, before = judged !== report.all_low && agreementOf(report.all_low);
  list.push(agreementCard(judged, before ? `${percent(before.top1_agreement)} with everything in ${page.words.everything}` : ""));
  if (report.kept && report.kept.ladder) {
    const kept = report.kept, rungs = kept.ladder.rungs.filter(rung => rung.layers > 0);
    list.push(card("Layers in each format", rungs.map(rung => `${count(rung.layers)} ${formatTitle(rung.format)}`).join(", "),
      (kept.total_macs > 0 ? rungs.map(rung => percent(rung.macs / kept.total_macs)).join(", ") + " of the multiply-accumulates" : "layers") + (kept.certified ? ", certified" : "")));
  } else if (report.kept && page.words.lowered > 0) {
    const kept = report.kept;
    list.push(card("Kept in " + formatTitle(report.high), kept.layers.length ? `${count(kept.layers.length)} of ${count(page.words.lowered)}` : "none",
      (!kept.layers.length ? `of ${many(page.words.lowered, "layer")}` : kept.total_macs > 0 ? percent(kept.kept_macs / kept.total_macs) + " of the multiply-accumulates" : "layers") + (kept.certified && kept.layers.length ? ", certified" : "")));
  }
  if (report.typed && report.typed.original_weight_bytes > 0) list.push(card("Weights", bytes(report.typed.weight_bytes), "were " + bytes(report.typed.original_weight_bytes)));
  const l = report.latency;
  if (l && has(l.float_ms)) {
    const last = has(l.repaired_ms) ? l.repaired_ms : l.low_ms;
    const where = l.engine ? shown(l.engine) : "ONNX Runtime";
    list.push(has(last) ? card("Latency, " + where, milliseconds(last) + " ms", `FP32: ${milliseconds(l.float_ms)} ms` + (last > 1.1 * l.float_ms && l.note ? ". Slower: see Latency" : "")) : card("Latency in FP32", milliseconds(l.float_ms) + " ms", where));
  }
  cards(list);
})();
