// The network as boxes: a box is a layer, or a run of harmless ones.
/** "1 x 64 x 56 x 56": the shape of what leaves a node; "" where the report does not have it. */
function shapeText(node) { return node.shape ? node.shape.length ? node.shape.join("\u00d7") : "scalar" : ""; }

function networkDrawing(select) {
  const drawing = page.drawing;
  if (!drawing || !drawing.boxes.length) return null;
  const W = drawing.width, H = drawing.height, bw = drawing.box_width, bh = drawing.box_height;
  const svg = h("svg", {viewBox: `0 0 ${W} ${H}`, class: "net", role: "group", "aria-label": "The network, read in columns from top to bottom"});
  const boxes = drawing.boxes;
  let edges = "";
  for (const [from, to] of drawing.edges) {
    const a = boxes[from], b = boxes[to];
    const x1 = a.x + bw / 2, y1 = a.y + bh, x2 = b.x + bw / 2, y2 = b.y;
    if (y2 > y1 && y2 - y1 < bh && Math.abs(x1 - x2) < 1) edges += `M${x1} ${y1}V${y2}`;
    else if (y2 > y1 && Math.abs(x2 - x1) > 1) edges += `M${x1} ${y1}C${x1} ${y1 + 16} ${x2} ${y2 - 16} ${x2} ${y2}`;
    else if (y2 > y1) edges += `M${a.x + bw} ${a.y + bh / 2}C${a.x + bw + 15} ${a.y + bh / 2} ${b.x + bw + 15} ${b.y + bh / 2} ${b.x + bw} ${b.y + bh / 2}`;
    else edges += `M${a.x + bw} ${a.y + bh / 2}C${a.x + bw + 30} ${a.y + bh / 2} ${b.x - 30} ${b.y + bh / 2} ${b.x} ${b.y + bh / 2}`;
  }
  svg.append(h("path", {d: edges, class: "edge"}));
  // A shape is written where it changes: below the box that makes it.
  const made = box => shapeText(network[box.nodes[box.nodes.length - 1]]);
  const readers = new Set(drawing.edges.map(edge => edge[0])), before = boxes.map(() => []);
  for (const [from, to] of drawing.edges) before[to].push(made(boxes[from]));
  boxes.forEach((box, b) => {
    if (made(box) && readers.has(b) && !before[b].includes(made(box))) svg.append(textAt(box.x + bw / 2 + 4, box.y + bh + 10, shorten(made(box), 24), "start", {class: "shape"}));
  });
  const groups = [], groupOf = new Map();
  const view = zoomable(svg, W, H);
  boxes.forEach((box, b) => {
    const nodes = box.nodes.map(i => network[i]);
    const rows = nodes.map(node => layers[rowOf.get(node.name)]).filter(Boolean);
    const worst = rows.reduce((bad, row) => !bad || overflows(row) > overflows(bad) || (overflows(row) === overflows(bad) && (row.share || 0) > (bad.share || 0)) ? row : bad, null);
    const single = nodes.length === 1;
    const types = new Map();
    for (const node of nodes) types.set(node.op_type, (types.get(node.op_type) || 0) + 1);
    const kinds = [...types].sort((p, q) => q[1] - p[1]).map(([type, n]) => (n > 1 ? n + " " : "") + shown(type));
    const first = single ? shown(nodes[0].op_type) : many(nodes.length, "layer");
    const second = single ? shown(cut(nodes[0].name)) : kinds.join(", ");
    const share = rows.reduce((sum, row) => sum + (row.share || 0), 0);
    const title = (single ? `${shown(nodes[0].name)} (${shown(nodes[0].op_type)})` : `${many(nodes.length, "layer")}: ${kinds.join(", ")}\nfrom ${shown(nodes[0].name)}\nto ${shown(nodes[nodes.length - 1].name)}`) +
      (made(box) ? `\nout: ${made(box)}` : "") + (rows.length ? `\nshare ${single ? percent(rows[0].share) : percent(share)}` + (single ? `, local ${db(rows[0].own_sqnr_db)} dB, propagated ${db(rows[0].propagated_db)} dB` : "") + (single ? `\n${formatTitle(formatOf(rows[0]))}` : "") + (rows.some(row => row.kept) ? (single ? ", kept" : "\nkept") : "") : "\nonly moves data, or is unchanged");
    const group = h("g", {class: "box", tabindex: b ? "-1" : "0", role: "button", "aria-label": title.replace(/\n/g, ", "), transform: `translate(${box.x} ${box.y})`},
      h("rect", {width: bw, height: bh}),
      // Letters differ in width: an inner svg ends what is still too long at its box.
      h("svg", {width: bw, height: bh}, h("text", {x: bw / 2, y: 12.5, "text-anchor": "middle", class: "type"}, shorten(first, 20)),
        h("text", {x: bw / 2, y: 25, "text-anchor": "middle"}, shorten(second, 21))));
    nodes.forEach(node => groupOf.set(node.name, group));
    group.paint = by => {
      const heats = rows.map(row => heat(row, by));
      const most = heats.length ? Math.max(...heats) : -1;
      group.setAttribute("class", "box " + (most < 0 ? "hx" : "h" + most) + (rows.some(row => row.kept) ? " kept" : "") + (rows.some(row => row.name === openLayer) ? " chosen" : ""));
    };
    group.paint(anyShares ? "share" : "own_sqnr_db");
    const open = () => { if (worst) select(worst.name); };
    group.addEventListener("click", open);
    group.addEventListener("mousemove", event => showTip(title, event.clientX, event.clientY));
    group.addEventListener("mouseleave", hideTip);
    group.addEventListener("focus", () => { const r = group.getBoundingClientRect(); showTip(title, r.left, r.bottom - 8); });
    group.addEventListener("blur", hideTip);
    group.addEventListener("keydown", event => {
      const step = {ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, Home: -groups.length, End: groups.length}[event.key];
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(); }
      if (!step) return;
      event.preventDefault();
      const next = groups[Math.max(0, Math.min(groups.length - 1, b + step))];
      group.setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      const at = boxes[groups.indexOf(next)];
      view.show(at.x, at.y, bw, bh);
      next.focus();
    });
    groups.push(group);
    svg.append(group);
  });
  const by = h("select", {id: "colour", onchange: () => groups.forEach(group => group.paint(by.value))},
    anyShares ? h("option", {value: "share"}, "share of the damage") : "", h("option", {value: "own_sqnr_db"}, "local error"),
    h("option", {value: "sqnr_db"}, "error with everything low"));
  onOpen.push(layer => {
    for (const group of svg.querySelectorAll(".chosen")) group.classList.remove("chosen");
    if (groupOf.has(layer)) groupOf.get(layer).classList.add("chosen");
  });
  const keys = [["h0", "least"], ["h1", ""], ["h2", ""], ["h3", ""], ["h4", "most, or overflows"]];
  return h("div", {},
    h("div", {class: "tools"}, h("label", {for: "colour"}, "Colour: "), by, view.tools,
      h("span", {class: "legend"}, keys.map(([k, text]) => h("span", {}, h("i", {class: "key", style: `background:var(--${k})`}), text)),
        h("span", {}, h("i", {class: "key keeps"}), "kept"),
        h("span", {}, h("i", {class: "key idle"}), "only moves data, not lowered or not measured"))),
    view.frame,
    h("p", {class: "small"}, `${many(network.length, "node")} in ${many(boxes.length, "box").replace("boxs", "boxes")}. Move between boxes with the arrow keys; Enter opens the worst layer of one. Zoom with + and \u2212 or Ctrl and the wheel; 0 fits. Drag to move.`));
}
