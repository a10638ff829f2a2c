// Under the answer: what to do next, and the figures that one look should find.
const low = page.words.low;

advice(page.answer.advice, page.answer.commands);

(function headline() {
  const list = [];
  const tone = run => !run || run.passed === undefined || report.reference_from_file ? "" : run.passed ? "good" : "bad";
  const margins = page.words.margins || {};
  const runCard = (what, which, run) => list.push(figureCard(what, page.words[which], margins[which] || page.words.required, tone(run)));
  if (report.all_low.outputs.length) runCard(`Everything in ${page.words.everything}`, "all_low", report.all_low);
  if (report.repaired) runCard("With the repairs, nothing kept", "repaired", report.repaired);
  if (report.final_figures) runCard(page.words.model.replace("the", "The"), "final", report.final_figures);
  const judged = report.final_figures || report.repaired || report.all_low, before = judged !== report.all_low && agreementOf(report.all_low);
  list.push(agreementCard(judged, before ? `${onePercent(before.top1_agreement)} with everything in ${page.words.everything}` : ""));
  if (report.kept && report.kept.ladder) {
    const kept = report.kept, rungs = kept.ladder.rungs.filter(rung => rung.layers > 0);
    list.push(card("Layers in each format", rungs.map(rung => `${count(rung.layers)} ${rung.format}`).join(", "),
      (kept.total_macs > 0 ? rungs.map(rung => percent(rung.macs / kept.total_macs)).join(", ") + " of the multiply-accumulates" : "layers") + (kept.certified ? ", certified" : "")));
  } else if (report.kept && page.words.lowered > 0) {
    const kept = report.kept;
    list.push(card("Kept in " + report.high, kept.layers.length ? `${count(kept.layers.length)} of ${count(page.words.lowered)}` : "none",
      (!kept.layers.length ? `of ${many(page.words.lowered, "layer")}` : kept.total_macs > 0 ? percent(kept.kept_macs / kept.total_macs) + " of the multiply-accumulates" : "layers") + (kept.certified && kept.layers.length ? ", certified" : "")));
  }
  if (report.typed && report.typed.original_weight_bytes > 0) list.push(card("Weights", bytes(report.typed.weight_bytes), "were " + bytes(report.typed.original_weight_bytes)));
  const l = report.latency;
  if (l && has(l.float_ms)) {
    const last = has(l.repaired_ms) ? l.repaired_ms : l.low_ms;
    const where = l.engine ? shown(l.engine) : "ONNX Runtime";
    list.push(has(last) ? card("Latency, " + where, plain(last, 3) + " ms", `float32 ${plain(l.float_ms, 3)} ms: ${(l.float_ms / last).toFixed(2)}x`) : card("Latency of float32", plain(l.float_ms, 3) + " ms", where));
  }
  cards(list);
})();
