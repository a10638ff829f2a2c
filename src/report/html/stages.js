// The page of a pipeline: its stages, where accuracy is lost, and how to make it again.
const stages = report.stages || [];
const limit = number(report.min_sqnr_db);
const isLost = stage => has(report.lost_at) && stage.name === report.lost_at;
const isBad = stage => has(stage.step_db) && number(stage.step_db) < limit;

{
  const next = report.next || [];
  nextSteps(next.map((command, i) => ({advice: i ? "" : next.length > 1 ? "Next, one of these:" : "Next:", command})));
}

function figure(f) {
  const v = number(f.value);
  if (f.share && v < 0) return "\u2013";
  return f.share && Number.isFinite(v) ? (100 * v).toFixed(2) + " %" : plain(f.value, 5);
}

/** Bars: each stage against the one before. Line: against the first. Down is worse. */
function stageChart() {
  const later = stages.filter(stage => has(stage.step_db));
  if (!later.length) return null;
  const finite = later.flatMap(stage => [number(stage.step_db), number(stage.total_db)]).filter(Number.isFinite);
  const low = Math.min(0, ...finite), high = Math.max(limit * 1.25, ...finite) * 1.05;
  const W = 1160, H = 260, left = 60, right = 12, top = 20, bottom = 34, width = W - left - right, height = H - top - bottom;
  // Equal is above all that is measured, not finite below.
  const y = v => top + height * (high - Math.min(Math.max(v, low), high)) / (high - low);
  const x = i => left + width * (i + 0.5) / stages.length;
  const svg = h("svg", {viewBox: `0 0 ${W} ${H}`, class: "wide", role: "img",
    "aria-label": "SQNR of each stage against the one before and against the first; the table above has the figures."});
  for (const v of ticks(low, high, 5)) svg.append(h("line", {x1: left, x2: W - right, y1: y(v), y2: y(v), class: "axis"}), textAt(left - 6, y(v) + 4, v + " dB", "end"));
  const line = [], labels = [], barW = Math.min(64, width / stages.length * 0.4), letters = Math.max(4, Math.floor(width / stages.length / 8));
  stages.forEach((stage, i) => {
    svg.append(h("g", {}, h("title", {}, shown(stage.name)), textAt(x(i), H - 12, shorten(shown(stage.name), letters), "middle")));
    if (!has(stage.step_db)) return;
    const at = y(number(stage.step_db));
    svg.append(h("rect", {x: x(i) - barW / 2, y: at, width: barW, height: Math.max(1, y(low) - at), class: isBad(stage) ? "bars" : "refbars"}));
    labels.push(textAt(x(i), at - 6, decibels(stage.step_db), "middle", {class: "over"}));
    line.push([x(i), y(number(stage.total_db))]);
  });
  svg.append(h("path", {d: path(line), class: "front"}));
  for (const [px, py] of line) svg.append(h("circle", {cx: px, cy: py, r: 3.5, class: "point"}));
  svg.append(h("line", {x1: left, x2: W - right, y1: y(limit), y2: y(limit), class: "clip"}), textAt(left + 6, y(limit) - 5, `good from ${plain(limit)} dB`, "start", {class: "cliptext"}), ...labels);
  return h("div", {}, scrolling("Chart of the stages", svg), h("div", {class: "legend"}, legend("--ref", "against the stage before"),
    legend("--low", "the same, below the limit"), legend("--accent", "against the first stage (line)")));
}

(function table() {
  const figures = stages.length ? (stages[0].figures || []).map(f => f.name) : [];
  const heads = ["stage", "is", "to the stage before, dB", "to the first, dB", "largest error", ...figures.map(shown), ""];
  const rows = stages.map(stage => h("tr", {class: isLost(stage) ? "lost" : null}, h("td", {}, name(stage.name), h("div", {class: "small"}, name(stage.file))), h("td", {}, shown(stage.is), stage.engine ? h("div", {class: "small"}, "on ", shown(stage.engine)) : ""),
    h("td", {class: "num" + (isBad(stage) ? " bad" : "")}, has(stage.step_db) ? db(stage.step_db) : ""), h("td", {class: "num"}, has(stage.total_db) ? db(stage.total_db) : ""),
    h("td", {class: "num"}, has(stage.max_abs) ? plain(stage.max_abs, 3) : ""), figures.map((unused, i) => h("td", {class: "num"}, (stage.figures || [])[i] ? figure(stage.figures[i]) : "")),
    h("td", {}, isLost(stage) ? h("span", {class: "tag hot"}, "lost at this stage") : "")));
  const left = stages.flatMap(stage => (stage.not_compared || []).map(why => h("li", {}, name(stage.name), ": ", shown(why))));
  section("stages", "Stages", `Over ${many(report.samples, "sample")}; a stage is good from ${plain(limit)} dB, compared with the one before. The worst output decides.`,
    scrolling("Stages", h("table", {}, h("thead", {}, h("tr", {}, heads.map((t, i) => h("th", {scope: "col", class: i > 1 && i < heads.length - 1 ? "num" : null}, t || h("span", {class: "unseen"}, "verdict"))))), h("tbody", {}, rows))),
    stageChart(), left.length ? [h("h3", {}, "Not compared"), h("ul", {class: "plain"}, left)] : "");
})();

notesSection(report.warnings || [], []);

reproduceSection([["Data", shown(report.data)]]);
