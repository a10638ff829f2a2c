// All layers: sorted, filtered, and as CSV.
function layerTable(select) {
  const events = ["overflowed", "saturated", "subnormal", "flushed", "nan"].filter(key => layers.some(row => row[key] > 0));
  const deep = layers.some(row => placeOf.has(row.name));
  const most = Math.max(1e-9, ...layers.map(row => row.share || 0));
  const columns = [
    {key: "rank", title: "#", value: row => row.rank, cell: row => row.rank, numeric: true},
    {key: "name", title: "layer", value: row => row.name, cell: row => h("button", {type: "button", class: "layer", onclick: () => select(row.name)}, name(row.name), row.graph ? " in " + shown(row.graph) : "")},
    {key: "op_type", title: "operator", value: row => row.op_type, cell: row => shown(row.op_type)},
    {key: "format", title: "format", value: row => row.format, cell: row => row.format},
    {key: "share", title: "share", value: row => row.share, cell: row => has(row.share) ? [h("i", {class: "meter", style: `width:${(32 * row.share / most).toFixed(1)}px`}), percent(row.share)] : "\u2013", numeric: true},
    {key: "own_sqnr_db", title: "own dB", value: row => has(row.own_sqnr_db) ? number(row.own_sqnr_db) : undefined, cell: row => db(row.own_sqnr_db), numeric: true},
    {key: "inherited_sqnr_db", title: "inherited dB", value: row => has(row.inherited_sqnr_db) ? number(row.inherited_sqnr_db) : undefined, cell: row => db(row.inherited_sqnr_db), numeric: true},
    {key: "sensitivity_db", title: "sensitivity dB", value: row => has(row.sensitivity_db) ? number(row.sensitivity_db) : undefined, cell: row => db(row.sensitivity_db), numeric: true},
    ...events.map(key => ({key, title: key, value: row => row.values ? row[key] : undefined, cell: row => row[key] ? count(row[key]) : "", numeric: true})),
    {key: "macs", title: "MACs", value: row => row.macs, cell: row => row.macs ? count(row.macs) : "", numeric: true},
    ...(deep ? [{key: "place", title: "depth", value: row => placeOf.get(row.name), cell: row => placeOf.has(row.name) ? placeOf.get(row.name) : "", numeric: true}] : []),
    {key: "kept", title: "kept", value: row => row.kept ? 1 : 0, cell: row => row.kept ? h("span", {class: "tag kept"}, "kept") : ""},
  ];
  layers.forEach((row, i) => { row.rank = i + 1; });
  let sortBy = columns[0], down = false, shownRows = 100;
  const search = h("input", {type: "search", placeholder: "Filter by name or operator", "aria-label": "Filter layers by name or operator"});
  const kept = h("input", {type: "checkbox", id: "only-kept"});
  const operators = [...new Set(layers.map(row => row.op_type))].sort();
  const operator = h("select", {"aria-label": "Operator"}, h("option", {value: ""}, "all operators"), operators.map(type => h("option", {value: type}, shown(type))));
  const headings = columns.map(column => h("th", {class: column.numeric ? "num" : null, scope: "col"},
    h("button", {type: "button", onclick: () => { down = sortBy === column ? !down : column.numeric && column.key !== "rank" && !column.key.endsWith("_db") && column.key !== "place"; sortBy = column; draw(); }}, column.title)));
  const body = h("tbody", {});
  const status = h("span", {class: "small", role: "status"});
  const more = h("button", {type: "button", onclick: () => { shownRows += 400; draw(); }}, "Show 400 more");
  function chosen() {
    const text = search.value.trim().toLowerCase();
    const rows = layers.filter(row => (!kept.checked || row.kept) && (!operator.value || row.op_type === operator.value) &&
      (!text || row.name.toLowerCase().includes(text) || row.op_type.toLowerCase().includes(text)));
    const order = (a, b) => {
      const x = sortBy.value(a), y = sortBy.value(b);
      if (x === undefined || y === undefined) return (x === undefined) - (y === undefined); // not measured comes last
      const way = typeof x === "string" ? (x < y ? -1 : x > y ? 1 : 0) : x - y || 0;
      return down ? -way : way;
    };
    return rows.sort((a, b) => order(a, b) || a.rank - b.rank);
  }
  function draw() {
    const rows = chosen();
    headings.forEach((heading, i) => {
      if (columns[i] === sortBy) heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      else heading.removeAttribute("aria-sort");
    });
    body.replaceChildren(...rows.slice(0, shownRows).map(row => h("tr", {}, columns.map(column => h("td", {class: column.numeric ? "num" : null}, column.cell(row))))));
    status.textContent = `${count(Math.min(shownRows, rows.length))} of ${many(rows.length, "layer")}` + (rows.length < layers.length ? `, filtered from ${count(layers.length)}` : "");
    more.hidden = rows.length <= shownRows;
  }
  function csv() {
    const keys = ["rank", "name", "op_type", "graph", "format", "share", "own_sqnr_db", "inherited_sqnr_db", "propagated_sqnr_db", "sensitivity_db", "values", "overflowed", "saturated", "subnormal", "flushed", "nan", "macs", "kept"];
    // A name that begins like a formula would be run as one by a spreadsheet.
    const cell = value => value === undefined ? "" : typeof value === "string" ? '"' + value.replace(/^(?=[=+\-@\t\r])(?!-?(inf|nan)$)/, "'").replace(/"/g, '""') + '"' : String(value);
    const text = [keys.join(","), ...chosen().map(row => keys.map(key => cell(row[key])).join(","))].join("\r\n") + "\r\n";
    const link = h("a", {href: URL.createObjectURL(new Blob([text], {type: "text/csv"})), download: "layers.csv"});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 5000);
  }
  const redraw = () => { shownRows = 100; draw(); };
  search.addEventListener("input", redraw);
  kept.addEventListener("change", redraw);
  operator.addEventListener("change", redraw);
  draw();
  return h("div", {},
    h("div", {class: "tools"}, search, operator, h("label", {for: "only-kept"}, kept, " kept only"), h("button", {type: "button", onclick: csv}, "Download CSV"), status),
    h("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of layers"}, h("table", {}, h("thead", {}, h("tr", {}, headings)), body)),
    h("div", {class: "tools"}, more),
    h("p", {class: "small"}, "own: the layer's error on exact inputs; inherited: the error that arrives with its inputs; sensitivity: the output's with only this layer low; share: of the summed damage of all layers. In dB, more is better; 6 dB are one bit."));
}
