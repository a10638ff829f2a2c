// What could be done about the requirement, each measured: under the answer, before the evidence.
(function options() {
  const rows = page.words.options || [];
  if (!rows.length) return;
  const columns = [["option", "option"], ["kept", "kept"], ["of the work", "work"], ["result", "result"], ["same top-1", "same_top1"], ["ms", "ms"], ["requirement", "end"]]
    .filter(([, key]) => rows.some(row => row[key]));
  const left = key => key === "option" || key === "end";
  const cell = (row, key) => h("td", {class: left(key) ? null : "num"}, row.best && key === "option" ? h("strong", {}, row[key]) : row[key], row.best && key === "end" ? ", the least work" : "");
  const table = h("table", {}, h("thead", {}, h("tr", {}, columns.map(([title, key]) => h("th", {scope: "col", class: left(key) ? null : "num"}, title)))),
    h("tbody", {}, rows.map(row => h("tr", {class: row.best ? "best" : null}, columns.map(([, key]) => cell(row, key))))));
  section("options", "Options", "What could be done, each measured as far as time allowed.", scrolling("Options", table),
    rows.filter(row => row.why).map(row => h("p", {class: "small"}, `${row.option}: ${row.why}.`)));
})();
