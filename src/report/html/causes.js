// Why layers break, and what was tried: causes one by one and in groups, what an error is made of, tables of repairs.
const explanation = report.explanation || {};
const of = (list, layer) => (list || []).filter(item => item.layer === layer || (item.layers || []).includes(layer));
const causesOfLayer = new Map();
for (const cause of explanation.causes || []) causesOfLayer.set(cause.layer, [...(causesOfLayer.get(cause.layer) || []), cause]);
for (const list of causesOfLayer.values()) list.sort((a, b) => b.confidence - a.confidence);
const words = id => shown(id.replace(/-/g, " "));

function meter(share, width) { return h("i", {class: "meter", style: `width:${(width * Math.max(0, Math.min(1, share))).toFixed(1)}px`}); }
function figuresOf(cause) {
  return (cause.figures || []).length ? h("p", {class: "small"}, cause.figures.map(f => `${shown(f.name)}: ${plain(f.value)} ${shown(f.unit || "")}`.trim()).join(" \u00b7 ")) : "";
}
function repairsOf(ids) {
  return ids.length ? h("p", {class: "small repairs"}, ids.length > 1 ? "Repairs to try: " : "Repair to try: ", ids.map(id => [h("span", {class: "tag"}, shown(id)), " "])) : "";
}

/** One cause of the layer whose panel it stands in. */
function causeBox(cause) {
  return h("div", {class: "cause"},
    h("p", {}, h("b", {}, words(cause.id)), has(cause.confidence) ? h("span", {class: "small"}, `  confidence ${percent(cause.confidence)}`) : ""),
    h("p", {}, shown(cause.sentence || "")), figuresOf(cause), repairsOf(cause.repairs || []));
}

/** One row: what it is, how many layers, their share of the damage, the numbers of the worst of them, what to try. Groups and
 * their order are those of the terminal: one function makes both. */
function causeGroup(group) {
  const first = explanation.causes[group.first], names = group.layers, share = group.share, atFirst = 8;
  const some = group.of_some.map(id => [h("span", {class: "tag"}, shown(id)), " "]);
  const rest = names.slice(atFirst);
  return h("div", {class: "cause"},
    h("div", {class: "head"}, h("b", {}, words(first.id)),
      !group.sure ? h("span", {class: "small"}, `confidence ${percent(first.confidence)}`) : "",
      h("span", {class: "small"}, names.length ? many(names.length, "layer") : "the network as a whole"),
      share > 0 ? h("span", {class: "small share"}, meter(share, 90), `${percent(share)} of the damage`) : ""),
    h("p", {}, names.length > 1 ? ["Worst at ", layerLink(first.layer), ": "] : names.length ? [layerLink(first.layer), ": "] : "", shown(first.sentence || "")),
    figuresOf(first),
    names.length > 1 ? h("p", {class: "small"}, "Likewise at ", names.slice(1, atFirst).map((layer, i) => [i ? ", " : "", layerLink(layer)])) : "",
    rest.length ? h("details", {class: "small"}, h("summary", {}, `and ${many(rest.length, "more layer")}`), rest.map((layer, i) => [i ? ", " : "", layerLink(layer)])) : "",
    repairsOf(group.repairs), some.length ? h("p", {class: "small repairs"}, "At some of these layers: ", some) : "");
}

/** What was accepted first, and alone where it is something: a large network has thousands that were tried. */
function repairTable(repairs, withLayers) {
  const accepted = repairs.filter(r => r.accepted), rows = [...accepted, ...repairs.filter(r => !r.accepted)];
  const atFirst = Math.min(30, accepted.length || 8);
  const body = h("tbody", {});
  const namesOf = r => [(r.layers || []).slice(0, 4).map((layer, i) => [i ? ", " : "", layerLink(layer)]), (r.layers || []).length > 4 ? ` and ${r.layers.length - 4} more` : ""];
  const verdict = r => r.accepted ? h("span", {class: "good"}, "\u2713 accepted") : h("span", {class: "small"}, "left out");
  const columns = [["repair", "whole", r => shown(r.id)], ...(withLayers ? [["layers", null, namesOf]] : []), ["before, dB", "num", r => db(r.before_db)],
    ["after, dB", "num", r => db(r.after_db)], ["result", "whole", verdict], ["why", null, r => shown(r.why || "")]];
  const add = some => body.append(...some.map(r => h("tr", {}, columns.map(([, kind, cell]) => h("td", {class: kind}, cell(r))))));
  add(rows.slice(0, atFirst));
  const more = rows.length > atFirst ? h("button", {type: "button", onclick: () => { add(rows.slice(atFirst)); more.remove(); }}, `Show all ${count(rows.length)}`) : null;
  return h("div", {}, h("p", {class: "small"}, `${count(accepted.length)} of ${count(rows.length)} accepted.`),
    scrolling("Repairs", h("table", {}, h("thead", {}, h("tr", {}, columns.map(([title, kind]) => h("th", {scope: "col", class: kind}, title)))), body)), more);
}

/** What the error is made of: each line is a whole in two parts, so that its shares sum to 100 %. */
function blameBars(blame) {
  const lines = [["weights", "activations"], ["clipping", "rounding"], ["accumulation", "the rest"], ["inherited", "made here"]].map(([one, other]) => {
    const share = has(blame[one]) ? blame[one] : has(blame[other]) ? 1 - blame[other] : null;
    if (share === null) return null;
    const [a, b] = tenthsOf([share, 1 - share]);
    return h("div", {class: "split"}, h("span", {}, `${one} ${tenthsText(a, share)} %`),
      h("i", {class: "halves", "aria-hidden": "true"}, h("i", {style: `width:${(a / 10).toFixed(1)}%`})), h("span", {}, `${other} ${tenthsText(b, 1 - share)} %`));
  }).filter(Boolean);
  return lines.length ? h("div", {}, lines) : null;
}
