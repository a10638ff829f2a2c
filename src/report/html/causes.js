// Why layers break, and what was tried: causes one by one and in groups, what an error is made of, tables of repairs.
const explanation = report.explanation || {};
const of = (list, layer) => (list || []).filter(item => item.layer === layer || (item.layers || []).includes(layer));
const causesOfLayer = new Map();
for (const cause of explanation.causes || []) causesOfLayer.set(cause.layer, [...(causesOfLayer.get(cause.layer) || []), cause]);
for (const list of causesOfLayer.values()) list.sort((a, b) => b.confidence - a.confidence);
const words = id => shown(id.replace(/-/g, " "));

function meter(share, width) { return h("i", {class: "meter", style: `width:${(width * Math.max(0, Math.min(1, share))).toFixed(1)}px`}); }
function figuresOf(cause) {
  return (cause.figures || []).length ? h("p", {class: "small"}, cause.figures.map(f => `${shown(f.name)}: ${plain(f.value, f.unit === "%" ? 3 : 5)} ${shown(f.unit || "")}`.trim()).join(" \u00b7 ")) : "";
}

/** What a cause or a repair is, in a line, and the command that prints the same; for reports of other programs the command
    alone. */
function explanationOf(id, kind) {
  const text = ((page.words.explained || {})[kind] || {})[id];
  return [h("b", {}, shown(id)), text ? ": " + shown(text) + ". " : ": ", "Offline: ", h("code", {}, "vernier help " + shown(id))];
}
/** Buttons that explain their names in `line`, one at a time. */
function chips(ids, kind, line, label = id => id) {
  const all = ids.map(id => h("button", {type: "button", class: "tag", "aria-expanded": "false", title: "What is this?", onclick: event => {
    const open = event.currentTarget.getAttribute("aria-expanded") !== "true";
    all.forEach(chip => chip.setAttribute("aria-expanded", String(open && chip === event.currentTarget)));
    line.replaceChildren(...(open ? explanationOf(id, kind) : []));
  }}, shown(label(id))));
  return all.map(chip => [chip, " "]);
}
function chipLine(start, ids) {
  const line = h("p", {class: "small explained", role: "status"});
  return h("div", {class: "small repairs"}, start, chips(ids, "repairs", line), line);
}
/** The repair that was accepted for the layer of a cause, else those that may be tried. */
function repairsOf(cause, ids) {
  const accepted = of(explanation.repairs, cause.layer).find(r => r.accepted && (cause.repairs || []).includes(r.id));
  return accepted ? chipLine("Repaired by: ", [accepted.id]) : ids.length ? chipLine(ids.length > 1 ? "Repairs to try: " : "Repair to try: ", ids) : "";
}
/** The name of a cause, which explains itself in the line that comes with it. */
function causeName(id) {
  const line = h("p", {class: "small explained", role: "status"});
  return [h("b", {}, chips([id], "causes", line, words)), line];
}
/** A confidence is a rank and no probability: in words. */
function howLikely(cause) { return has(cause.confidence) && cause.confidence < 0.5 ? h("span", {class: "small"}, "possible") : ""; }

/** One cause of the layer whose panel it stands in. */
function causeBox(cause) {
  const [title, line] = causeName(cause.id);
  return h("div", {class: "cause"},
    h("div", {class: "head"}, title, howLikely(cause)), line,
    h("p", {}, shown(cause.sentence || "")), figuresOf(cause), repairsOf(cause, cause.repairs || []));
}

/** One row: what it is, how many layers, their share of the damage, the numbers of the worst of them, what to try. Groups and
 * their order are those of the terminal: one function makes both. */
function causeGroup(group) {
  const first = explanation.causes[group.first], names = group.layers, atFirst = 8;
  const rest = names.slice(atFirst), [title, line] = causeName(first.id);
  return h("div", {class: "cause"},
    h("div", {class: "head"}, title, howLikely(first),
      h("span", {class: "small"}, !names.length ? "the network as a whole" : group.lesser ? `main cause of ${many(names.length, "layer")}; secondary in ${count(group.lesser)}` : many(names.length, "layer")),
      group.damage ? h("span", {class: "small share"}, group.share > 0 ? meter(group.share, 90) : "", group.damage) : ""), line,
    h("p", {}, names.length > 1 ? ["Worst at ", layerLink(first.layer), ": "] : names.length ? [layerLink(first.layer), ": "] : "", shown(first.sentence || "")),
    figuresOf(first),
    names.length > 1 ? h("p", {class: "small"}, "Also at ", names.slice(1, atFirst).map((layer, i) => [i ? ", " : "", layerLink(layer)])) : "",
    rest.length ? h("details", {class: "small"}, h("summary", {}, `and ${many(rest.length, "more layer")}`), rest.map((layer, i) => [i ? ", " : "", layerLink(layer)])) : "",
    repairsOf(first, group.repairs), group.of_some.length ? chipLine("At some of these layers: ", group.of_some) : "");
}

/** What has no figure was refused before it was measured. */
function isTried(r) { return r.accepted || has(r.before_db); }

/** What was accepted first, and alone where it is something: a large network has thousands that were tried. */
function repairTable(repairs, withLayers) {
  const accepted = repairs.filter(r => r.accepted), rows = [...accepted, ...repairs.filter(r => !r.accepted)];
  const namesOf = r => [(r.layers || []).slice(0, 4).map((layer, i) => [i ? ", " : "", layerLink(layer)]), (r.layers || []).length > 4 ? ` and ${r.layers.length - 4} more` : ""];
  const verdict = r => r.accepted ? h("span", {class: "good"}, "\u2713 accepted") : h("span", {class: "small"}, isTried(r) ? "rejected" : "not applicable");
  const tried = rows.filter(isTried).length;
  const columns = [{title: "repair", kind: "whole", cell: r => shown(r.id)}, ...(withLayers ? [{title: "layers", cell: namesOf}] : []), {title: "before, dB", kind: "num", cell: r => db(r.before_db)},
    {title: "after, dB", kind: "num", cell: r => db(r.after_db)}, withLayers ? {title: "result", cell: verdict} : {title: "result", cell: r => [verdict(r), h("div", {class: "small"}, shown(r.why || ""))]},
    ...(withLayers ? [{title: "why", kind: "long", cell: r => shown(r.why || "")}] : [])];
  return h("div", {}, withLayers ? "" : h("p", {class: "small"}, (tried ? `${count(accepted.length)} of ${count(tried)} accepted. ` : "") + (tried < rows.length ? `${count(rows.length - tried)} not applicable.` : "")),
    tableOf("Repairs", columns, rows, {atFirst: Math.min(30, accepted.length || 8)}));
}

function medianOf(values) {
  const sorted = values.filter(v => !Number.isNaN(v)).sort((a, b) => a - b), half = Math.floor(sorted.length / 2);
  return !sorted.length ? undefined : sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}
/** A row for each repair; every attempt is folded away. */
function repairSummary(repairs) {
  const ids = [...new Set(repairs.map(r => r.id))], line = h("p", {class: "small explained", role: "status"});
  const of = id => repairs.filter(r => r.id === id), accepted = id => of(id).filter(r => r.accepted);
  const tried = id => of(id).filter(isTried);
  const median = (id, key) => !accepted(id).length ? "" : db(medianOf(accepted(id).filter(r => has(r.before_db) && has(r.after_db)).map(r => number(r[key]))));
  const columns = [{title: "repair", kind: "whole", cell: id => chips([id], "repairs", line)}, {title: "accepted", kind: "num", cell: id => accepted(id).length ? h("span", {class: "good"}, "\u2713 " + count(accepted(id).length)) : tried(id).length ? "0" : ""},
    {title: "tried", kind: "num", cell: id => tried(id).length ? count(tried(id).length) : ""}, {title: "not applicable to", kind: "num", cell: id => of(id).length > tried(id).length ? count(of(id).length - tried(id).length) : ""},
    {title: "median before, dB", kind: "num", cell: id => median(id, "before_db")}, {title: "after, dB", kind: "num", cell: id => median(id, "after_db")}];
  const order = ids.map((id, i) => [id, i]).sort((a, b) => (accepted(b[0]).length > 0) - (accepted(a[0]).length > 0) || a[1] - b[1]).map(pair => pair[0]);
  // Its rows are made when it is opened: there may be thousands.
  const all = h("details", {class: "attempts", ontoggle: () => { if (all.open && all.childElementCount === 1) all.append(repairTable(repairs, true)); }},
    h("summary", {}, repairs.length === 1 ? "The attempt" : `All ${many(repairs.length, "attempt")}, layer by layer`));
  return h("div", {}, tableOf("Repairs in sum", columns, order), line, all);
}

/** What the error is made of: each line is a whole in two parts. */
function blameBars(blame) {
  const lines = [["weights", "activations"], ["clipping", "rounding"], ["accumulation", "the rest"], ["inherited", "made", "propagated", "local"]].map(([one, other, left = one, right = other]) => {
    const share = has(blame[one]) ? blame[one] : has(blame[other]) ? 1 - blame[other] : null;
    if (share === null) return null;
    return h("div", {class: "split"}, h("span", {}, `${left} ${percent(share)}`),
      h("i", {class: "halves", "aria-hidden": "true"}, h("i", {style: `width:${(100 * share).toFixed(1)}%`})), h("span", {}, `${right} ${percent(1 - share)}`));
  }).filter(Boolean);
  return lines.length ? h("div", {}, lines) : null;
}
