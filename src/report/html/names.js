// Names from files: made safe to show, and shown without the beginning and the end that most of them share.

/** A name from a file, safe to show: what is invisible or turns the direction of text is written as \u{XXXX}. */
function shown(name) {
  return String(name).replace(/[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    c => "\\u{" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0") + "}");
}
function shorten(text, most) {
  const letters = Array.from(text);
  if (letters.length <= most) return text;
  const head = Math.ceil((most - 1) / 2);
  return letters.slice(0, head).join("") + "\u2026" + letters.slice(letters.length - (most - 1 - head)).join("");
}
/** A name in pieces: it breaks behind / . : _ where it must, and an ellipsis never stands alone on a line. */
function breakable(text) {
  const pieces = text.match(/[^/.:_]*[/.:_]+|[^/.:_]+/g) || [];
  const whole = piece => piece.length <= 24 && piece.includes("\u2026") ? h("span", {class: "whole"}, piece) : piece;
  return pieces.map((piece, i) => i ? [h("wbr"), whole(piece)] : whole(piece));
}
function name(text, attributes) { return h("span", Object.assign({class: "name"}, attributes), breakable(shown(text))); }

/** What at least three in five of the names begin (or end) with, up to a separator; "" where that is hardly worth it. */
function sharedEnd(names, atEnd) {
  const worth = 6; // letters: Conv_12 says more than 12
  const looked = 160; // letters; longer beginnings are no help, and a file may hold a name of a megabyte
  const counts = new Map();
  for (const name of names) {
    for (let i = 1; i < Math.min(name.length, looked); ++i) {
      const at = atEnd ? name.length - i : i - 1;
      if (!"/.:_".includes(name[at])) continue;
      const end = atEnd ? name.slice(at) : name.slice(0, i);
      counts.set(end, (counts.get(end) || 0) + 1);
    }
  }
  let best = "";
  for (const [end, times] of counts) {
    if (end.length > Math.max(worth, best.length) && times >= 3 && times >= 0.6 * names.length) best = end;
  }
  return best;
}
const allNames = [...new Set([...network, ...layers].map(row => row.name))];
const sharedStart = sharedEnd(allNames, false), sharedTail = sharedEnd(allNames, true);

/** A layer's name without what most share; an ellipsis stands for it, so that two names never become one. */
function cut(name) {
  const start = sharedStart && name.startsWith(sharedStart) && name.length > sharedStart.length ? sharedStart.length : 0;
  const rest = name.slice(start);
  const tail = sharedTail && rest.endsWith(sharedTail) && rest.length > sharedTail.length ? sharedTail.length : 0;
  return (start ? "\u2026" : "") + rest.slice(0, rest.length - tail) + (tail ? "\u2026" : "");
}
/** The short name of a layer; the full one when the mouse rests on it. */
function layerName(layer, most = 48) {
  const short = shorten(shown(cut(layer)), most), full = shown(layer);
  return h("span", {class: "name", title: short === full ? null : full}, breakable(short));
}
function layerHash(layer) {
  try { return "#layer=" + encodeURIComponent(layer); } catch (e) { return "#layers"; } // half a surrogate has no URL
}
/** A link that opens a layer; `select` may be known only later. */
function layerLink(layer, most) {
  if (!rowOf.has(layer)) return layerName(layer, most);
  return h("a", {class: "layer", href: layerHash(layer), onclick: event => { event.preventDefault(); select(layer); }}, layerName(layer, most));
}

/** Files that were written beside the page are links, so that page and files can move together. A page of another name was
    rendered again, perhaps elsewhere, and has none. */
function folderOf(file) { return file.slice(0, Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\")) + 1); }
function fileLink(file) {
  const text = String(file), pageFile = String((report.files || {}).page || "");
  try {
    const here = decodeURI(location.pathname).endsWith("/" + pageFile.slice(folderOf(pageFile).length));
    if (pageFile && here && folderOf(pageFile) === folderOf(text) && text !== pageFile) {
      return h("a", {class: "name", href: "./" + encodeURIComponent(text.slice(folderOf(text).length))}, shown(text));
    }
  } catch (e) { /* an address or a name that is no text */ }
  return name(text);
}
/** A sentence in which the files that were written are links. */
function withFiles(sentence) {
  const files = Object.values(report.files || {}).filter(file => file && sentence.includes(file)).sort((a, b) => b.length - a.length);
  if (!files.length) return sentence.split(/(--[a-z][a-z0-9-]*)/).map((part, i) => i % 2 ? h("span", {class: "unbroken"}, part) : shown(part));
  const at = sentence.indexOf(files[0]);
  return [...withFiles(sentence.slice(0, at)), fileLink(files[0]), ...withFiles(sentence.slice(at + files[0].length))];
}
