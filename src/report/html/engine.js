/** What an engine's own compiler made of a typed model. */
function engineSection(c) {
  if (!c) return;
  const engine = c.engine ? `${shown(c.engine.name)} ${shown(c.engine.version)}, compiled for ${shown(c.compiled_for)}, not run.` : "";
  if (c.refused) {
    section("engine", "The engine", engine, h("p", {class: "warn"}, "It rejected the model: " + shown(c.refused)));
    return;
  }
  const types = list => list.length ? list.map(shown).join(", ") : "-";
  const row = cells => h("tr", {}, cells.map((cell, i) => h("td", {class: typeof cell === "number" ? "num" : ""}, typeof cell === "number" ? count(cell) : cell)));
  const table = (headings, rows) => scrolling("Layers and kernels of the engine", h("table", {}, h("thead", {}, h("tr", {}, headings.map(text => h("th", {scope: "col", class: text === "kernel" || text === "#" ? "num" : ""}, text)))), h("tbody", {}, rows.map(row))));
  const layerRows = list => table(["layer", "operator", "file asks", "reads", "writes", "kernel"],
    list.map(l => [name(l.name), shown(l.operator), shown(l.asked), types(l.reads), types(l.writes), has(l.kernel) ? l.kernel + 1 : "in none by name"]));
  const once = tensors => [...new Set(tensors.map(t => t.type))];
  const differ = c.layers.filter(l => l.differs);
  const rest = h("details", {}, h("summary", {}, `All ${many(c.layers.length, "layer")} and ${many(c.kernels.length, "kernel")}`), layerRows(c.layers),
    table(["#", "kind", "reads", "writes", "name"], c.kernels.map((k, i) => [i + 1, shown(k.kind), types(once(k.inputs)), types(once(k.outputs)), name(k.name)])));
  section("engine", "The engine", engine,
    h("p", {}, `${many(c.kernels.length, "kernel")}. ${count(c.helpers.length)} of them compute no layer: they rescale, convert or move data. ` +
      (differ.length ? `${many(differ.length, "layer")} in another format than the file asks for:` : "Every layer runs in the format that the file asks for.") +
      (has(c.float16_kernels) && c.float16_kernels < c.kernels.length ? ` With every layer in FP16 it has ${count(c.float16_kernels)}, so FP16 may be as fast.` : "")),
    differ.length ? layerRows(differ) : "", rest);
}
