// All layers: sorted, filtered, and as CSV. Beside an open layer the columns that say most stay.
const EVENT_NAMES = {overflowed: "overflow", saturated: "saturated", subnormal: "subnormal", flushed: "underflow", nan: "NaN"};
const EVENTS = Object.keys(EVENT_NAMES);

/** The causes of a layer in words, the surest first. */
function causesOf(row) { return (causesOfLayer.get(row.name) || []).map(cause => cause.id.replace(/-/g, " ")); }

/** title, value to sort by, cell to show; `extra`: gives way to an open layer. */
function layerColumns() {
  const decibelColumn = (key, title, extra) => ({key, title, value: row => has(row[key]) ? number(row[key]) : undefined, cell: row => db(row[key]), numeric: true, upFirst: true, extra});
  const countColumn = (key, title, extra) => {
    const column = columnOf(layers.map(row => row[key]));
    return {key, title: title + (column.unit ? ", " + column.unit : ""), value: row => row[key], cell: row => row[key] ? column.text(row[key]) : "", numeric: true, extra};
  };
  const events = EVENTS.filter(key => layers.some(row => row[key] > 0));
  const most = Math.max(1e-9, ...layers.map(row => row.share || 0));
  const chips = row => causesOf(row).slice(0, 2).map((cause, i) => [i ? ", " : "", shown(cause)]);
  return [
    {key: "rank", title: "#", value: row => row.rank, cell: row => row.rank, numeric: true, upFirst: true},
    {key: "name", title: "layer", value: row => row.name, cell: row => [layerLink(row.name, 34), row.graph ? " in " + shown(row.graph) : ""]},
    {key: "op_type", title: "operator", value: row => row.op_type, cell: row => shown(row.op_type), extra: true},
    ...(layers.some(row => causesOfLayer.has(row.name)) ? [{key: "cause", title: "cause", kind: "reason", value: row => causesOf(row)[0], cell: chips}] : []),
    {key: "format", title: "format", kind: "format", whole: true, value: formatOf, cell: row => [formatTitle(formatOf(row)), row.kept ? [" ", h("span", {class: "tag kept"}, "kept")] : ""]},
    {key: "share", title: "share, %", value: row => row.share, cell: row => has(row.share) ? [h("span", {class: "bar-of"}, meter(row.share / most, 32)), percentAlone(row.share)] : "\u2013", numeric: true},
    decibelColumn("own_sqnr_db", "local, dB"), decibelColumn("propagated_db", "propagated, dB", true), decibelColumn("sensitivity_db", "sensitivity, dB", true),
    ...events.map(key => countColumn(key, EVENT_NAMES[key], true)), countColumn("macs", "MACs", true),
    ...(layers.some(row => placeOf.has(row.name)) ? [{key: "place", title: "depth", value: row => placeOf.get(row.name), cell: row => placeOf.has(row.name) ? placeOf.get(row.name) : "", numeric: true, upFirst: true, extra: true}] : []),
  ];
}

function downloadCsv(rows) {
  const keys = ["rank", "name", "op_type", "graph", "format", "cause", "share", "own_sqnr_db", "propagated_db", "sqnr_db", "sensitivity_db", "values", ...EVENTS, "macs", "kept"];
  const value = (row, key) => key === "format" ? formatOf(row) : key === "cause" ? causesOf(row).join("; ") : row[key];
  // A name that begins like a formula would be run as one by a spreadsheet.
  const cell = value => value === undefined ? "" : typeof value === "string" ? '"' + value.replace(/^(?=[=+\-@\t\r])(?!-?(inf|nan)$)/, "'").replace(/"/g, '""') + '"' : String(value);
  const text = [keys.join(","), ...rows.map(row => keys.map(key => cell(value(row, key))).join(","))].join("\r\n") + "\r\n";
  const link = h("a", {href: URL.createObjectURL(new Blob([text], {type: "text/csv"})), download: "layers.csv"});
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 5000);
}

function layerTable() {
  const columns = layerColumns();
  let sortBy = columns[0], down = false, shownRows = 100;
  const search = h("input", {type: "search", placeholder: "Filter by name, operator or cause", "aria-label": "Filter layers by name, operator or cause"});
  const kept = h("input", {type: "checkbox", id: "only-kept"});
  const operators = [...new Set(layers.map(row => row.op_type))].sort();
  const operator = h("select", {"aria-label": "Operator"}, h("option", {value: ""}, "all operators"), operators.map(type => h("option", {value: type}, shown(type))));
  const kind = column => [column.numeric ? "num" : "", column.extra ? "extra" : "", column.whole ? "whole" : "", column.kind || ""].filter(Boolean).join(" ") || null;
  const headings = columns.map(column => h("th", {class: kind(column), scope: "col"},
    h("button", {type: "button", onclick: () => { down = sortBy === column ? !down : column.numeric && !column.upFirst; sortBy = column; draw(); }}, column.title)));
  const body = h("tbody", {});
  const status = h("span", {class: "small", role: "status"});
  const more = h("button", {type: "button", onclick: () => { shownRows += 400; draw(); }});
  function chosen() {
    const text = search.value.trim().toLowerCase();
    const rows = layers.filter(row => (!kept.checked || row.kept) && (!operator.value || row.op_type === operator.value) &&
      (!text || row.name.toLowerCase().includes(text) || row.op_type.toLowerCase().includes(text) || causesOf(row).some(cause => cause.includes(text))));
    const order = (a, b) => {
      const x = sortBy.value(a), y = sortBy.value(b);
      if (x === undefined || y === undefined) return (x === undefined) - (y === undefined); // not measured comes last
      const way = typeof x === "string" ? (x < y ? -1 : x > y ? 1 : 0) : x - y || 0;
      return down ? -way : way;
    };
    return rows.sort((a, b) => order(a, b) || a.rank - b.rank);
  }
  const mark = layer => {
    for (const row of body.children) row.classList.toggle("chosen", layer !== null && row.layer === layer);
  };
  function draw() {
    const rows = chosen();
    headings.forEach((heading, i) => {
      if (columns[i] === sortBy) heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      else heading.removeAttribute("aria-sort");
    });
    body.replaceChildren(...rows.slice(0, shownRows).map(row => {
      const line = h("tr", {class: row.kept ? "iskept" : null}, columns.map(column => h("td", {class: kind(column)}, column.cell(row))));
      line.layer = row.name;
      return line;
    }));
    mark(openLayer);
    status.textContent = !rows.length ? "No layer matches." : `${count(Math.min(shownRows, rows.length))} of ${many(rows.length, "layer")}` + (rows.length < layers.length ? `, filtered from ${count(layers.length)}` : "");
    more.hidden = rows.length <= shownRows;
    more.textContent = `Show ${count(Math.min(400, rows.length - shownRows))} more`;
  }
  const redraw = () => { shownRows = 100; draw(); };
  search.addEventListener("input", redraw);
  kept.addEventListener("change", redraw);
  operator.addEventListener("change", redraw);
  onOpen.push(mark);
  draw();
  beside.append(
    h("div", {class: "scroll", id: "layer-table", tabindex: "0", role: "region", "aria-label": "Table of layers"}, h("table", {}, h("thead", {}, h("tr", {}, headings)), body)), panel);
  return h("div", {},
    h("div", {class: "tools"}, search, operator, h("label", {for: "only-kept"}, kept, " kept only"), h("button", {type: "button", onclick: () => downloadCsv(chosen())}, "Download CSV"), status),
    beside,
    h("div", {class: "tools"}, more),
    h("p", {class: "small"}, `${page.words.legend}. In dB, more is better; 6 dB is one bit. Close the open layer to see all columns.`));
}
