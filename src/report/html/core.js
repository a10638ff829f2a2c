// What all parts of the page share: the data, elements made without any HTML from data.
const page = JSON.parse(document.getElementById("data").textContent);
const report = page.report;
const layers = report.layers || [];
const network = report.network || [];

// Where each layer stands in the network, and the other way round.
const placeOf = new Map(network.map((node, i) => [node.name, i]));
const rowOf = new Map(layers.map((row, i) => [row.name, i]));
const pictureOf = new Map((report.pictures || []).map(picture => [picture.layer, picture]));
const certificateOf = new Map(((report.kept && report.kept.certificate) || []).map(row => [row.layer, row]));

/** An element; attributes by name, functions are listeners ("onclick"), children are elements or text. */
function h(tag, attributes, ...children) {
  const svg = h.svg.has(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(3)) {
    if (child === undefined || child === null || child === "") continue;
    element.append(child instanceof Node ? child : document.createTextNode(h.verbatim.has(tag) ? String(child) : withUnits(String(child))));
  }
  return element;
}
h.verbatim = new Set(["code", "pre", "textarea"]);
h.svg = new Set(["svg", "g", "path", "rect", "line", "text", "circle", "title", "polyline"]);

for (const line of document.querySelectorAll(".answer, .further")) line.textContent = withUnits(line.textContent);

/** What the navigation calls a section whose title is long: all of them fit into one line. */
const SHORT = {why: "Why", samples: "Samples", depth: "Depth", network: "Network", engine: "Engine", curve: "Curve", notes: "Notes"};

/** A section of the page with an entry in the navigation. It goes where the page has a place for it, else to the end. */
function section(id, title, lead, ...children) {
  document.getElementById("nav").append(h("a", {href: "#" + id}, SHORT[id] || title));
  const element = h("section", {id, "aria-labelledby": id + "-title"}, h("h2", {id: id + "-title"}, title),
    lead && h("p", {class: "lead"}, lead), ...children);
  (document.getElementById("place-" + id) || document.getElementById("main")).append(element);
  return element;
}

/** Shows `draw(phone)`, drawn again when the window becomes as narrow as a phone, or wider. */
function responsive(draw) {
  const phone = matchMedia("(max-width: 640px)"), place = h("div");
  const fill = () => place.replaceChildren(draw(phone.matches));
  phone.addEventListener("change", fill);
  fill();
  return place;
}

/** What may be wider or higher than its place: it scrolls, with the keyboard too. */
function scrolling(label, ...children) { return h("div", {class: "scroll", tabindex: "0", role: "group", "aria-label": label}, ...children); }

/** A table with `columns` of {title, kind, cell}, kind "num" or "whole" or nothing; a phone shows each row as a list.
    Behind the first `atFirst` rows a button shows the others, and so does paper. */
function tableOf(label, columns, rows, {atFirst = Infinity, rowClass = () => null} = {}) {
  const body = h("tbody", {});
  const add = some => body.append(...some.map(row => h("tr", {class: rowClass(row)}, columns.map(column => h("td", {class: column.kind, "data-title": column.title}, column.cell(row))))));
  if (rows.length === atFirst + 1) atFirst = rows.length;  // a button is no shorter than a row
  add(rows.slice(0, atFirst));
  const more = rows.length > atFirst ? h("button", {type: "button", onclick: () => all()}, `Show all ${count(rows.length)}`) : null;
  const all = () => { if (more.isConnected) { add(rows.slice(atFirst)); more.remove(); } };
  if (more && rows.length <= 500) addEventListener("beforeprint", all);
  return h("div", {}, scrolling(label, h("table", {class: "list"},
    h("thead", {}, h("tr", {}, columns.map(column => h(column.title ? "th" : "td", {scope: column.title ? "col" : null, class: column.kind}, column.title)))), body)), more);
}

/** A button that copies `text`; `shownAs` is selected where there is no clipboard. */
function copyButton(label, text, shownAs) {
  const button = h("button", {type: "button", onclick: () => {
    const done = () => { button.textContent = "Copied"; setTimeout(() => { button.textContent = label; }, 1500); };
    const select = () => {
      const from = shownAs || h("pre", {class: "unseen"}, text);
      if (!shownAs) document.body.append(from);
      const range = document.createRange();
      range.selectNodeContents(from);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      if (document.execCommand("copy")) done();
      else button.textContent = shownAs ? "Press Ctrl+C" : "Not copied: the browser refused";
      if (!shownAs) from.remove();
    };
    // Files opened from a disk have no clipboard in some browsers.
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, select);
    else select();
  }}, label);
  return button;
}
function command(text) {
  // A line never ends inside an option.
  const words = text.split(/( +)/).map(word => word.startsWith("-") && word.length < 30 ? h("span", {class: "unbroken"}, shown(word)) : shown(word));
  const code = h("pre", {tabindex: "0"}, words);
  return h("div", {class: "command"}, code, copyButton("Copy", text, code));
}

const tip = document.getElementById("tip");
function showTip(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(6, Math.min(x + 14, innerWidth - box.width - 8)) + "px";
  tip.style.top = (y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18) + "px";
}
function hideTip() { tip.hidden = true; }

(function theme() {
  const button = document.getElementById("theme");
  const stored = (() => { try { return localStorage.getItem("vernier-theme"); } catch (e) { return null; } })();
  const set = dark => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    button.textContent = dark ? "Light" : "Dark";
  };
  set(stored ? stored === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
  button.addEventListener("click", () => {
    const dark = document.documentElement.dataset.theme !== "dark";
    set(dark);
    try { localStorage.setItem("vernier-theme", dark ? "dark" : "light"); } catch (e) { /* it lasts as long as the page */ }
  });
})();

layers.forEach((row, i) => { row.rank = i + 1; });
function overflows(row) { return row.overflowed > 0 || row.nan > 0 || (has(row.own_sqnr_db) && number(row.own_sqnr_db) === -Infinity); }
/** As it runs in the output model: a kept layer is in the high format, or on its rung of a ladder. */
const rungs = new Map((((report.kept || {}).ladder || {}).raised || []).map(row => [row.layer, row.format]));
/** A format as sentences write it: FP32. */
function formatTitle(format) { return (page.formats || {})[format] || format; }
function formatOf(row) { return rungs.get(row.name) || (row.kept ? report.high : row.format); }

/** Whether damage was measured; a report that was cut short has errors alone. */
const anyShares = layers.some(row => has(row.share));
/** 0 harmless to 4 very bad; -1 where nothing is known. What overflows is very bad, whatever its share. */
function heat(row, by) {
  if (!row) return -1;
  if (overflows(row)) return 4;
  if (by === "share") {
    if (!has(row.share)) return -1;
    return [0.005, 0.02, 0.05, 0.15].filter(limit => row.share >= limit).length;
  }
  if (!has(row[by])) return -1;
  return [40, 30, 20, 10].filter(limit => number(row[by]) < limit).length;
}
