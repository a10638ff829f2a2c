// Ways to meet the requirement, each measured: under the answer, before the evidence.
(function options() {
  const rows = page.words.options || [];
  if (!rows.length) return;
  const columns = [["option", "option"], ["kept", "kept"], ["of the work", "work"], ["result", "result"], ["bound on new samples", "bound"], ["top-1 agreement", "same_top1"], ["ms", "ms"], ["requirement", "end"]]
    .filter(([, key]) => rows.some(row => row[key]));
  const table = tableOf("Options", columns.map(([title, key]) => ({title, kind: key === "option" || key === "end" ? null : "num",
    cell: row => row.best && key === "option" ? h("strong", {}, row[key]) : row[key]})), rows, {rowClass: row => row.best ? "best" : null});
  section("options", "Options", "Each option was measured with a limited number of evaluations.", table,
    (page.words.option_remarks || []).map(text => h("p", {class: "small"}, text + ".")));
})();
