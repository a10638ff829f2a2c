// One layer in detail, beside the table of layers: figures, causes, repairs, and how its values lie on their grids.
function fact(what, value) { return h("div", {}, h("span", {}, what), value); }

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
  return [h("div", {class: "legend"}, legend("--ref", "FP32 (bars)"), legend("--low", "low precision (line)"), h("span", {}, h("i", {class: "key dashed"}), "ends of the grid"), h("span", {}, `counts on a logarithmic axis, over ${picture.samples < report.samples ? picture.samples + " of " : ""}${many(report.samples, "sample")}`)),
    h("div", {class: "plots"}, figures)];
}

/** {result, used} of a row of the certificate, in the words of the text. */
function without(row) { return (page.words.without || {})[row.layer] || {}; }

function layerBody(row) {
  const certificate = certificateOf.get(row.name);
  const seen = row.values > 0;
  const eventText = seen ? EVENTS.filter(k => row[k] > 0).map(k => `${EVENT_NAMES[k]} ${count(row[k])}`).join(", ") || "none" : "";
  const blame = of(explanation.blame, row.name)[0], causes = causesOfLayer.get(row.name) || [], repairs = of(explanation.repairs, row.name);
  return [h("div", {class: "facts"},
      fact("share of the damage", percent(row.share)), fact("local error", decibels(row.own_sqnr_db)), fact("propagated error", decibels(row.propagated_db)),
      fact("output with only this layer low", decibels(row.sensitivity_db)), fact("format", formatTitle(formatOf(row)) + (row.kept ? ", kept" : "")), row.macs ? fact("multiply-accumulates", count(row.macs)) : "",
      seen ? fact(`of ${count(row.values)} rounded values`, eventText) : "",
      certificate ? fact("kept set without it", `${without(certificate).on_samples ? `${without(certificate).on_samples}, ${page.words.certified_figure} ` : ""}${without(certificate).result}: fails`) : ""),
    causes.map(causeBox),
    !causes.length && (explanation.examined || []).includes(row.name) ? h("p", {class: "small"}, (explanation.ordinary || []).includes(row.name) ? "Examined: it has only the rounding error of its format." : "Examined: no cause found.") : "",
    blame ? [h("h3", {}, "Sources of its error"), blameBars(blame)] : "",
    repairs.length ? [h("h3", {}, "Repairs tried"), repairTable(repairs, false)] : "",
    plots(row.name) || h("p", {class: "small"}, "Only the worst layers have histograms.")];
}

const panel = h("aside", {id: "layer", "aria-labelledby": "layer-name", hidden: true});
const beside = h("div", {class: "layers"}); // the table, and the panel when a layer is open
const onOpen = []; // what else marks the open layer: functions of its name, null when there is none
let openLayer = null;

/** Opens a layer, by its name; nothing happens where there is none of that name. */
function openPanel(layer) {
  const row = layers[rowOf.get(layer)];
  if (!row) return false;
  openLayer = layer;
  const step = (by, text, label) => {
    const next = layers[row.rank - 1 + by];
    return h("button", {type: "button", "aria-label": label, disabled: !next, onclick: () => { select(next.name, {stay: true}); document.querySelector(`#layer button[aria-label="${label}"]`).focus({preventScroll: true}); }}, text);
  };
  panel.replaceChildren(h("div", {class: "head"}, h("span", {class: "small"}, `#${row.rank} of ${count(layers.length)}, ${shown(row.op_type)}${row.graph ? " in " + shown(row.graph) : ""}`),
      step(-1, "\u2191", "Worse layer"), step(1, "\u2193", "Next layer"), h("button", {type: "button", "aria-label": "Close", onclick: closePanel}, "\u2715")),
    h("h3", {id: "layer-name", tabindex: "-1"}, h("a", {class: "name", href: layerHash(layer), title: "Link to this layer"}, shown(layer))),
    ...layerBody(row).flat(4).filter(Boolean));
  panel.hidden = false;
  beside.classList.add("open");
  onOpen.forEach(mark => mark(layer));
  return true;
}
function closePanel() {
  const row = openLayer && beside.querySelector("tr.chosen a.layer");
  openLayer = null;
  panel.hidden = true;
  beside.classList.remove("open");
  onOpen.forEach(mark => mark(null));
  if (row) row.focus({preventScroll: true});
}
panel.addEventListener("keydown", event => { if (event.key === "Escape") closePanel(); });

/** Opens a layer, wherever it was chosen, and puts its link into the address. */
function select(layer, {stay} = {}) {
  hideTip();
  if (!openPanel(layer)) return;
  if (location.hash !== layerHash(layer)) location.hash = layerHash(layer);
  if (stay) return;
  panel.scrollIntoView({block: "nearest"});
  document.getElementById("layer-name").focus({preventScroll: true});
}
/** The layer that the address names, when the page opens or the address changes. */
function openFromAddress() {
  const found = /^#layer=(.*)$/.exec(location.hash);
  if (!found) return false;
  let layer = found[1];
  try { layer = decodeURIComponent(layer); } catch (e) { /* as it is */ }
  if (layer !== openLayer && !openPanel(layer)) return false;
  document.getElementById("layers").scrollIntoView({block: "start", behavior: "instant"});
  return true;
}
addEventListener("hashchange", () => { if (layerHash(openLayer || "") !== location.hash) openFromAddress(); });
