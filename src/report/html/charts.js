// Charts as SVG: damage over depth, histograms on their grids, ranges of channels, points of cost against accuracy.
function path(points) { return points.map((p, i) => (i ? "L" : "M") + p[0].toFixed(1) + " " + p[1].toFixed(1)).join(""); }
function textAt(x, y, text, anchor, extra) {
  return h("text", Object.assign({x, y, "text-anchor": anchor || "start"}, extra), text);
}

/** Round places for ticks between two values. */
function ticks(low, high, wanted) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const power = Math.pow(10, Math.floor(Math.log10(span / wanted)));
  const step = [1, 2, 5, 10].map(f => f * power).find(s => span / s <= wanted) || span;
  const all = [];
  for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-9; v += step) all.push(Math.abs(v) < step * 1e-9 ? 0 : v);
  return all;
}

/** Layers in graph order: bars of their share of the damage above, local and propagated error below. */
function depthChart(select) {
  const rows = layers.filter(row => placeOf.has(row.name));
  return rows.length < 2 ? null : responsive(phone => depthDrawing(select, phone));
}
function depthDrawing(select, phone) {
  const rows = layers.filter(row => placeOf.has(row.name)).sort((a, b) => placeOf.get(a.name) - placeOf.get(b.name));
  const damage = rows.some(row => row.share > 0); // none where a diagnosis was cut short
  const W = phone ? 380 : 1160, left = 52, right = 10, top = 14, barsH = damage ? 120 : 0, gap = damage ? 34 : 0, lineH = 150;
  const H = top + barsH + gap + lineH + 26, width = W - left - right;
  const x = i => left + (i + 0.5) * width / rows.length;
  const shares = rows.map(row => row.share || 0), most = Math.max(...shares, 1e-9);
  const finite = rows.flatMap(row => [row.own_sqnr_db, row.propagated_db]).filter(has).map(number).filter(Number.isFinite);
  const low = Math.min(0, ...finite), high = Math.max(20, ...finite.map(v => Math.min(v, 90)));
  const base = top + barsH, under = base + gap;
  const y = v => under + lineH * (1 - (high - Math.min(Math.max(v, low), high)) / (high - low || 1)); // up is worse
  const each = width / rows.length, barW = Math.max(1, Math.min(18, each * 0.7));
  let bars = "";
  rows.forEach((row, i) => {
    if (shares[i] > 0) bars += `M${(x(i) - barW / 2).toFixed(1)} ${base}v${(-barsH * shares[i] / most).toFixed(1)}h${barW.toFixed(1)}V${base}z`;
  });
  const curve = key => {
    const parts = [];
    rows.forEach((row, i) => {
      if (has(row[key])) parts.push([x(i), number(row[key]) === -Infinity ? under : y(number(row[key]) === Infinity ? high : number(row[key]))]);
    });
    return path(parts);
  };
  const svg = h("svg", {viewBox: `0 0 ${W} ${H}`, class: "wide", role: "img", tabindex: "0",
    "aria-label": (damage ? "Damage" : "Error") + " over depth. Left and right move between layers, Enter shows one."});
  for (const v of damage ? ticks(0, most * 100, 3) : []) {
    const at = base - barsH * v / (most * 100);
    svg.append(h("line", {x1: left, x2: W - right, y1: at, y2: at, class: "axis"}), textAt(left - 6, at + 4, plain(v, 3) + " %", "end"));
  }
  for (const v of ticks(low, high, 4)) {
    svg.append(h("line", {x1: left, x2: W - right, y1: y(v), y2: y(v), class: "axis"}), textAt(left - 6, y(v) + 4, v + " dB", "end"));
  }
  svg.append(h("path", {d: bars, class: "bars"}), h("path", {d: curve("propagated_db"), class: "inherited"}),
    h("path", {d: curve("own_sqnr_db"), class: "own"}),
    textAt(left, H - 6, "input"), textAt(W - right, H - 6, "output", "end"),
    textAt((left + W - right) / 2, H - 6, many(rows.length, "layer") + " in graph order", "middle"));
  const cursor = h("line", {y1: top, y2: under + lineH, class: "cursor", visibility: "hidden"});
  svg.append(cursor);
  let at = 0;
  const show = (i, clientX, clientY) => {
    at = Math.max(0, Math.min(rows.length - 1, i));
    const row = rows[at];
    cursor.setAttribute("x1", x(at));
    cursor.setAttribute("x2", x(at));
    cursor.setAttribute("visibility", "visible");
    showTip(`${shown(row.name)}\n${shown(row.op_type)}, ${formatTitle(formatOf(row))}${row.kept ? ", kept" : ""}\nshare ${percent(row.share)}` +
      `, local ${db(row.own_sqnr_db)} dB, propagated ${db(row.propagated_db)} dB`, clientX, clientY);
  };
  const leave = () => { hideTip(); cursor.setAttribute("visibility", "hidden"); };
  const indexAt = event => {
    const box = svg.getBoundingClientRect();
    return Math.floor(((event.clientX - box.left) * W / box.width - left) / each);
  };
  svg.addEventListener("mousemove", event => show(indexAt(event), event.clientX, event.clientY));
  svg.addEventListener("mouseleave", leave);
  svg.addEventListener("blur", leave);
  svg.addEventListener("click", () => select(rows[at].name));
  svg.addEventListener("keydown", event => {
    const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (event.key === "Enter") select(rows[at].name);
    if (!step) return;
    event.preventDefault();
    const box = svg.getBoundingClientRect();
    at = Math.max(0, Math.min(rows.length - 1, at + step));
    show(at, box.left + x(at) * box.width / W, box.top + 40);
  });
  return h("div", {}, phone ? svg : scrolling((damage ? "Damage" : "Error") + " over depth", svg), h("div", {class: "legend"},
    legend("--low", (damage ? "share of the damage (bars), and " : "") + "local error: of the layer on exact inputs (line)"),
    h("span", {}, h("i", {class: "key dashed other"}), "propagated error: from the error of the layer's inputs"), h("span", {}, damage ? "higher is worse in both" : "higher is worse")));
}
function legend(variable, text) {
  return h("span", {}, h("i", {class: "key", style: `background:var(${variable})`}), text);
}

/** Reference as bars, low as a line, counts on a logarithmic axis, ends of the grid dashed. */
function histogram(picture) {
  const W = 420, H = 190, left = 8, right = 8, top = 16, bottom = 24, width = W - left - right, height = H - top - bottom;
  const n = Math.min(picture.reference.length, picture.low.length);
  const most = Math.log10(1 + Math.max(1, ...picture.reference, ...picture.low));
  let first = picture.first, last = picture.last;
  const near = v => has(v) && v > picture.first - (picture.last - picture.first) * 0.5 && v < picture.last + (picture.last - picture.first) * 0.5;
  for (const v of [picture.clip_low, picture.clip_high, picture.smallest]) {
    if (near(v)) { first = Math.min(first, v); last = Math.max(last, v); }
  }
  const x = v => left + width * (v - first) / (last - first);
  const edge = i => x(picture.first + (picture.last - picture.first) * i / n);
  const y = c => top + height * (1 - Math.log10(1 + Math.max(0, c)) / most);
  let bars = "";
  const line = [];
  for (let i = 0; i < n; ++i) {
    if (picture.reference[i] > 0) bars += `M${edge(i).toFixed(1)} ${top + height}V${y(picture.reference[i]).toFixed(1)}H${edge(i + 1).toFixed(1)}V${top + height}z`;
    line.push([edge(i), y(picture.low[i])], [edge(i + 1), y(picture.low[i])]);
  }
  const svg = h("svg", {viewBox: `0 0 ${W} ${H}`, width: "100%", role: "img",
    "aria-label": `Histogram of ${shown(picture.tensor)}: reference against low`});
  svg.append(h("path", {d: bars, class: "refbars"}), h("path", {d: path(line), class: "lowline"}),
    h("line", {x1: left, x2: W - right, y1: top + height, y2: top + height, class: "zero"}));
  if (has(picture.step) && picture.step > 0 && (last - first) / picture.step <= 140) {
    let marks = "";
    for (let v = Math.ceil(first / picture.step) * picture.step; v <= last; v += picture.step) marks += `M${x(v).toFixed(1)} ${top + height}v4`;
    svg.append(h("path", {d: marks, class: "tick"}));
  }
  const mark = (v, text, end) => {
    if (!near(v)) return;
    svg.append(h("line", {x1: x(v), x2: x(v), y1: top - 4, y2: top + height, class: "clip"}),
      textAt(x(v) + (end ? -4 : 4), top + 4, text, end ? "end" : "start", {class: "cliptext"}));
  };
  mark(picture.clip_low, "grid begins", false);
  mark(picture.clip_high, picture.logarithmic ? "largest" : "grid ends", true);
  mark(picture.smallest, "smallest", false);
  for (const v of ticks(first, last, 5)) svg.append(textAt(x(v), H - 8, picture.logarithmic ? "2^" + plain(v, 3) : plain(v, 3), "middle"));
  return svg;
}

/** One upright line a channel, from its smallest to its largest value. */
function channelChart(ranges, clips, label) {
  const W = 420, H = 150, left = 44, right = 8, top = 8, bottom = 22, width = W - left - right, height = H - top - bottom;
  const n = Math.min(ranges.low.length, ranges.high.length);
  const low = Math.min(0, ...ranges.low), high = Math.max(0, ...ranges.high);
  const y = v => top + height * (high - v) / (high - low || 1);
  const x = i => left + width * (i + 0.5) / n;
  let lines = "";
  for (let i = 0; i < n; ++i) lines += `M${x(i).toFixed(1)} ${y(ranges.low[i]).toFixed(1)}V${(y(ranges.high[i]) + 0.6).toFixed(1)}`;
  const svg = h("svg", {viewBox: `0 0 ${W} ${H}`, width: "100%", role: "img", "aria-label": label});
  for (const v of ticks(low, high, 4)) svg.append(h("line", {x1: left, x2: W - right, y1: y(v), y2: y(v), class: "axis"}), textAt(left - 5, y(v) + 4, plain(v, 3), "end"));
  svg.append(h("path", {d: lines, class: "range", style: `stroke-width:${Math.max(1, Math.min(6, width / n * 0.6))}`}));
  for (const v of clips) {
    if (has(v) && v >= low && v <= high) svg.append(h("line", {x1: left, x2: W - right, y1: y(v), y2: y(v), class: "clip"}));
  }
  svg.append(textAt(left, H - 6, "channel 0"), textAt(W - right, H - 6, String(ranges.channels - 1), "end"));
  return svg;
}

/** Points [x, y, front] and a line through those of the front. */
function scatter(points, xLabel, yLabel) {
  const good = points.filter(p => Number.isFinite(p[0]) && Number.isFinite(p[1]));
  return good.length < 2 ? null : responsive(phone => scatterDrawing(good, xLabel, yLabel, phone));
}
function scatterDrawing(good, xLabel, yLabel, phone) {
  const W = phone ? 380 : 640, H = 250, left = 56, right = 14, top = 22, bottom = 40, width = W - left - right, height = H - top - bottom;
  const xs = good.map(p => p[0]), ys = good.map(p => p[1]);
  const x0 = Math.min(...xs), x1 = Math.max(...xs), y0 = Math.min(...ys), y1 = Math.max(...ys);
  const x = v => left + width * (v - x0) / (x1 - x0 || 1), y = v => top + height * (y1 - v) / (y1 - y0 || 1);
  const svg = h("svg", {viewBox: `0 0 ${W} ${H}`, class: "wide chart", role: "img", "aria-label": `${yLabel} against ${xLabel}`});
  for (const v of ticks(y0, y1, 4)) svg.append(h("line", {x1: left, x2: W - right, y1: y(v), y2: y(v), class: "axis"}), textAt(left - 6, y(v) + 4, plain(v, 3), "end"));
  for (const v of ticks(x0, x1, phone ? 4 : 6)) svg.append(textAt(x(v), H - 22, plain(v, 3), "middle"));
  svg.append(h("path", {d: path(good.filter(p => p[2]).sort((a, b) => a[0] - b[0]).map(p => [x(p[0]), y(p[1])])), class: "front"}));
  for (const p of good) svg.append(h("circle", {cx: x(p[0]), cy: y(p[1]), r: p[2] ? 3.5 : 2, class: "point", opacity: p[2] ? 1 : 0.45}));
  svg.append(textAt(left + width / 2, H - 5, xLabel, "middle"), textAt(left, top - 9, yLabel));
  return svg;
}
