// One layer in detail: figures, causes, repairs, and how its values lie on their grids.
const explanation = report.explanation || {};
const of = (list, layer) => (list || []).filter(item => item.layer === layer || (item.layers || []).includes(layer));

function fact(what, value) { return h("div", {}, h("span", {}, what), value); }

function causeBox(cause, withLayer) {
  return h("div", {class: "cause"},
    h("p", {}, h("b", {}, shown(cause.id.replace(/-/g, " "))), withLayer && cause.layer ? [" at ", name(cause.layer)] : "",
      has(cause.confidence) ? h("span", {class: "small"}, `  confidence ${percent(cause.confidence)}`) : ""),
    h("p", {}, shown(cause.sentence || "")),
    (cause.figures || []).length ? h("p", {class: "small"}, cause.figures.map(f => `${shown(f.name)}: ${plain(f.value)} ${shown(f.unit || "")}`).join(" \u00b7 ")) : "",
    (cause.repairs || []).length ? h("p", {class: "small"}, "Repairs to try: " + cause.repairs.map(shown).join(", ")) : "");
}

/** Layers that break for one reason: the most damaging one in detail, the others by name. */
function causeGroup(causes) {
  const [first, ...others] = causes;
  const names = [...new Set(others.map(cause => cause.layer))].filter(layer => layer && layer !== first.layer);
  const share = [first.layer, ...names].reduce((sum, layer) => sum + number((layers.find(row => row.name === layer) || {}).share || 0), 0);
  const box = causeBox(first, true);
  if (!names.length) return box;
  box.append(h("p", {class: "small"}, `Likewise at ${many(names.length, "other layer")}${share > 0 ? `, together ${percent(share)} of the damage` : ""}: `,
    names.slice(0, 8).map((layer, i) => [i ? ", " : "", name(layer)]), names.length > 8 ? ` and ${count(names.length - 8)} more` : ""));
  return box;
}

/** What was accepted first; a large network has thousands that were tried, and not all rows at first. */
function repairTable(repairs) {
  const atFirst = 30;
  const rows = [...repairs].sort((a, b) => Boolean(b.accepted) - Boolean(a.accepted));
  const body = h("tbody", {});
  const add = some => body.append(...some.map(r => h("tr", {}, h("td", {}, shown(r.id)),
    h("td", {}, name((r.layers || []).slice(0, 4).join(", ") + ((r.layers || []).length > 4 ? ` and ${r.layers.length - 4} more` : ""))),
    h("td", {class: "num"}, db(r.before_db)), h("td", {class: "num"}, db(r.after_db)),
    h("td", {}, r.accepted ? h("span", {class: "good"}, "\u2713 accepted") : h("span", {class: "small"}, "left out")), h("td", {}, shown(r.why || "")))));
  add(rows.slice(0, atFirst));
  const more = rows.length > atFirst ? h("button", {type: "button", onclick: () => { add(rows.slice(atFirst)); more.remove(); }}, `Show all ${count(rows.length)}`) : null;
  return h("div", {}, h("p", {class: "small"}, `${count(rows.filter(r => r.accepted).length)} of ${count(rows.length)} accepted.`),
    h("div", {class: "scroll"}, h("table", {}, h("thead", {}, h("tr", {}, ["repair", "layers", "before", "after", "", "why"].map((t, i) => h("th", {scope: "col", class: i === 2 || i === 3 ? "num" : null}, t)))), body)), more);
}

function blameBars(blame) {
  const parts = ["weights", "activations", "clipping", "rounding", "accumulation", "inherited"].filter(key => has(blame[key]));
  if (!parts.length) return null;
  return h("div", {class: "facts"}, parts.map(key => fact(key, [h("i", {class: "meter", style: `width:${(60 * Math.max(0, Math.min(1, blame[key]))).toFixed(1)}px`}), percent(blame[key])])));
}

function plots(layer) {
  const picture = pictureOf.get(layer);
  const figures = [];
  for (const tensor of (picture && picture.tensors) || []) {
    const zeros = tensor.reference_zeros || tensor.low_zeros ? `; zeros ${count(tensor.reference_zeros)}, low ${count(tensor.low_zeros)}` : "";
    const lost = tensor.low_nonfinite ? `; not finite in low: ${count(tensor.low_nonfinite)}` : "";
    const step = has(tensor.step) ? `; step ${plain(tensor.step, 3)}` : "";
    figures.push(h("figure", {}, h("figcaption", {}, ({input: "Input ", weight: "Weight ", output: "Output "})[tensor.role], name(tensor.tensor), (tensor.logarithmic ? ", sizes of values" : "") + step + zeros + lost), histogram(tensor)));
    if (tensor.channels && tensor.role !== "output") {
      figures.push(h("figure", {}, h("figcaption", {}, `Its range in each ${tensor.role === "weight" ? "output " : ""}channel` + (tensor.channels.per_entry > 1 ? `, ${tensor.channels.per_entry} channels a line` : "")), channelChart(tensor.channels, [tensor.clip_low, tensor.clip_high], "Range of each channel")));
    }
  }
  if (!figures.length) return null;
  return [h("div", {class: "legend"}, legend("--ref", "float32 (bars)"), legend("--low", "low precision (line)"), h("span", {}, h("i", {class: "key", style: "border-top:2px dashed var(--grid);border-width:2px 0 0;border-radius:0;background:none"}), "ends of the grid"), h("span", {}, `counts on a logarithmic axis, ${many(picture.samples, "sample")}`)),
    h("div", {class: "plots"}, figures)];
}

/** A test that was stopped early knows only that the result is at least this bad. */
function resultWithout(row) {
  const unit = {"min-sqnr": decibels, "min-top1-agreement": v => (100 * number(v)).toFixed(1) + " %"}[page.words.metric] || plain;
  return Number.isFinite(number(row.metric)) ? (row.lower_bound ? "at best " : "") + unit(row.metric) : "not finite";
}

function layerBody(row) {
  const certificate = certificateOf.get(row.name);
  const seen = row.values > 0;
  const eventText = seen ? ["overflowed", "saturated", "subnormal", "flushed", "nan"].filter(k => row[k] > 0).map(k => `${k} ${count(row[k])}`).join(", ") || "none" : "not counted";
  const blame = of(explanation.blame, row.name)[0], causes = of(explanation.causes, row.name), repairs = of(explanation.repairs, row.name);
  return [h("div", {class: "facts"},
      fact("share of the damage", percent(row.share)), fact("own error", decibels(row.own_sqnr_db)), fact("inherited", decibels(row.inherited_sqnr_db)),
      fact("output with only this low", decibels(row.sensitivity_db)), fact("format", row.format), row.macs ? fact("multiply-accumulates", count(row.macs)) : "",
      seen ? fact(`of ${count(row.values)} rounded values`, eventText) : "",
      certificate ? fact("kept set without it", `${resultWithout(certificate)}: fails`) : ""),
    causes.map(cause => causeBox(cause, false)),
    !causes.length && (explanation.examined || []).includes(row.name) ? h("p", {class: "small"}, "Examined; no cause stands out.") : "",
    blame ? [h("p", {class: "small"}, "Where its error comes from:"), blameBars(blame)] : "",
    repairs.length ? [h("h3", {}, "Repairs tried"), repairTable(repairs)] : "",
    plots(row.name) || h("p", {class: "small"}, "Histograms are drawn for the worst layers only.")];
}

const opened = new Map();
const layerList = h("div", {});
function layerEntry(row) {
  const tags = [row.kept ? h("span", {class: "tag kept"}, "kept") : "", of(explanation.causes, row.name).slice(0, 2).map(c => h("span", {class: "tag hot"}, shown(c.id.replace(/-/g, " "))))];
  const entry = h("details", {class: "one"}, h("summary", {}, h("span", {class: "small"}, "#" + (rowOf.get(row.name) + 1)), name(row.name), h("span", {class: "small"}, shown(row.op_type)), h("span", {class: "small"}, percent(row.share)), tags));
  const body = h("div", {});
  entry.append(body);
  entry.addEventListener("toggle", () => { if (entry.open && !body.hasChildNodes()) body.append(...layerBody(row).flat(4).filter(Boolean)); });
  opened.set(row.name, entry);
  return entry;
}
/** Shows one layer, wherever it was chosen. */
function select(layer) {
  const row = layers[rowOf.get(layer)];
  if (!row) return;
  const entry = opened.get(layer) || layerEntry(row);
  if (!entry.isConnected) layerList.prepend(entry);
  entry.open = true;
  hideTip();
  entry.scrollIntoView({block: "start"});
  entry.querySelector("summary").focus({preventScroll: true});
}
