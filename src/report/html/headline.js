// Under the answer: what to do next, and the figures that one look should find.
const low = page.words.low;

(function advice() {
  const place = document.getElementById("advice");
  for (const text of page.answer.advice) place.append(h("p", {}, withFiles(text)));
  for (const text of page.answer.commands) place.append(command(text));
})();

function card(what, big, more, tone) {
  const mark = {good: "\u2713 ", bad: "\u2715 "}[tone]; // not by colour alone
  return h("div", {class: "card"}, h("div", {class: "what"}, what), h("div", {class: "big" + (tone ? " " + tone : "")}, mark ? h("span", {"aria-hidden": "true"}, mark) : "", big), more ? h("div", {class: "more"}, more) : "");
}

/** Of a run's outputs the least share of largest classes that are the float model's, with its interval. */
function agreementOf(run) {
  const outputs = ((run && run.outputs) || []).filter(o => has(o.top1_agreement));
  return outputs.sort((a, b) => a.top1_agreement - b.top1_agreement)[0];
}
function agreementCard() {
  const run = report.final_figures || report.repaired || report.all_low, least = agreementOf(run), before = agreementOf(report.all_low);
  if (!least) return null;
  const one = share => (100 * share).toFixed(1) + " %", between = least.top1_agreement_95_percent;
  const more = [run !== report.all_low && before ? `${one(before.top1_agreement)} with everything in ${page.words.everything}` : "",
    between && between.low < between.high ? `95 % confidence: ${one(between.low)} to ${one(between.high)}` : ""].filter(Boolean).join("; ");
  return card("Same top-1 as float", one(least.top1_agreement), more);
}

(function cards() {
  const list = [];
  const tone = run => !run || run.passed === undefined || report.reference_from_file ? "" : run.passed ? "good" : "bad";
  const margins = page.words.margins || {};
  // "43.8 dB at output 'scores'": the figure is large, where it was measured is not.
  const runCard = (what, which, run) => {
    const [, big, where] = /^(.*?)( at output .*)?$/s.exec(page.words[which]);
    list.push(card(what, big, [where, margins[which] || page.words.required].filter(Boolean).join(", ").trim(), tone(run)));
  };
  if (report.all_low.outputs.length) runCard(`Everything in ${page.words.everything}`, "all_low", report.all_low);
  if (report.repaired) runCard("With the repairs, nothing kept", "repaired", report.repaired);
  if (report.final_figures) runCard(page.words.model.replace("the", "The"), "final", report.final_figures);
  list.push(agreementCard());
  if (report.kept && page.words.lowered > 0) {
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
  document.getElementById("place-cards").append(h("div", {class: "cards"}, list.filter(Boolean)));
})();
