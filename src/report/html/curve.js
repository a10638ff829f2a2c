// How many kept layers bring how much: sets that the search tried, what the sensitivities predict, and the requirement.

/** null where fewer than four sets were measured: two or three points say less than the figures above. */
function keptCurve() {
  const curve = page.curve || {}, ofDamage = !has(curve.limit); // several limits: the share of the allowance says it for all
  const value = point => ofDamage ? Math.log10(Math.max(1e-4, number(point.damage))) : number(point.metric);
  const answer = curve.answer || 0, furthest = Math.max(4, 3 * answer);
  const all = (curve.points || []).filter(p => p.kept <= furthest && Number.isFinite(value(p)));
  // Where nearly all has to be kept, the empty set would press the others into a corner.
  const kept = all.filter(p => p.kept > 0), least = Math.min(...kept.map(p => p.kept));
  const points = kept.length >= 4 && 2 * least > Math.max(...kept.map(p => p.kept)) ? kept : all;
  const asDecibels = page.words.metric === "min-sqnr" && !ofDamage;
  const predicted = asDecibels ? (report.curve || []).filter(p => p.kept <= furthest && (points === all || p.kept >= least) && Number.isFinite(number(p.predicted_sqnr_db))).sort((a, b) => a.kept - b.kept) : [];
  if (points.length < 4 && (points.length < 2 || predicted.length < 4)) return null;
  return responsive(phone => keptDrawing({curve, ofDamage, value, points, asDecibels, predicted, phone}));
}
function keptDrawing({curve, ofDamage, value, points, asDecibels, predicted, phone}) {
  const limit = ofDamage ? 0 : number(curve.limit);
  const W = phone ? 380 : 640, H = 280, left = 60, right = 18, top = 22, bottom = 42, width = W - left - right, height = H - top - bottom;
  const values = [limit, ...points.map(value), ...predicted.map(p => number(p.predicted_sqnr_db))];
  const pad = (Math.max(...values) - Math.min(...values) || 1) * 0.06;
  const y0 = Math.min(...values) - pad, y1 = Math.max(...values) + pad, x1 = Math.max(...points.map(p => p.kept), ...predicted.map(p => p.kept), 1);
  const fewest = Math.min(...points.map(p => p.kept)), x0 = 2 * fewest > x1 ? fewest - 1 : 0;
  const x = v => left + 12 + (width - 24) * (v - x0) / (x1 - x0), y = v => top + height * (y1 - v) / (y1 - y0);
  const text = v => ofDamage ? times(Math.pow(10, v)) : asDecibels ? decibels(v) : plain(v, 3), onAxis = v => asDecibels ? plain(v, 3) + " dB" : ofDamage ? plain(Math.pow(10, v), 2) + "x" : text(v);
  const svg = h("svg", {viewBox: `0 0 ${W} ${H}`, class: "wide", role: "img", "aria-label": `Kept layers against ${ofDamage ? "the share of the allowed error" : page.words.metric}: ${many(points.length, "set")} of layers, and the limit`});
  for (const v of ticks(y0, y1, 5)) svg.append(h("line", {x1: left, x2: W - right, y1: y(v), y2: y(v), class: "axis"}), textAt(left - 6, y(v) + 4, onAxis(v), "end"));
  for (const v of ticks(x0, x1, phone ? 5 : 8).filter(Number.isInteger)) svg.append(textAt(x(v), H - 24, count(v), "middle"));
  svg.append(h("path", {d: path(predicted.map(p => [x(p.kept), y(number(p.predicted_sqnr_db))])), class: "guess"}));
  svg.append(h("line", {x1: left, x2: W - right, y1: y(limit), y2: y(limit), class: "limit"}),
    textAt(left + 6, y(limit) - 6, ofDamage ? "the limit" : page.words.required, "start", {class: "over limittext"}));
  for (const p of points) {
    const cx = x(p.kept), cy = y(value(p)), says = `${many(p.kept, "layer")} kept: ${p.bound ? "at best " : ""}${text(value(p))}, ${p.passed ? "passes" : "misses"}`;
    // Two shapes, so that the eye needs no colour.
    svg.append(h("path", {d: p.passed ? `M${cx - 4.5} ${cy}a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0` : `M${cx - 4} ${cy - 4}l8 8M${cx + 4} ${cy - 4}l-8 8`, class: p.passed ? "passes" : "misses"}, h("title", {}, says)));
  }
  svg.append(textAt(left + width / 2, H - 6, "kept layers", "middle"), textAt(left, 12, ofDamage ? "share of the allowed error" : asDecibels ? (curve.on_new ? `SQNR: ${page.words.certified_figure}` : "SQNR") : page.words.metric));
  return h("div", {}, svg, h("div", {class: "legend"},
    h("span", {}, h("span", {class: "good", "aria-hidden": "true"}, "\u25cf "), "a set that passes"), h("span", {}, h("span", {class: "bad", "aria-hidden": "true"}, "\u2715 "), "one that misses"),
    predicted.length > 1 ? h("span", {}, h("i", {class: "key dashed guess"}), "predicted from the sensitivities") : ""));
}

/** Without a search there is the prediction alone. */
function predictedCurve() {
  const points = report.curve || [];
  return points.length < 2 ? null : scatter(points.map(p => [p.kept, number(p.predicted_sqnr_db), true]), "kept layers, most damaging first", "SQNR in dB, predicted");
}
