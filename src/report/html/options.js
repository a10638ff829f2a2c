// Ways to meet the requirement, each measured: under the answer, before the evidence.
(function options() {
  const rows = page.words.options || [];
  if (!rows.length) return;
  const columns = [["option", "option"], ["kept", "kept"], ["of the work", "work"], ["result", "result"], ["top-1 agreement", "same_top1"], ["ms", "ms"], ["requirement", "end"]]
    .filter(([, key]) => rows.some(row => row[key]));
  const left = key => key === "option" || key === "end";
  const cell = (row, key, title) => h("td", {class: left(key) ? null : "num", "data-title": title}, row.best && key === "option" ? h("strong", {}, row[key]) : row[key], row.best && key === "end" ? ", the least work" : "");
  const table = h("table", {}, h("thead", {}, h("tr", {}, columns.map(([title, key]) => h("th", {scope: "col", class: left(key) ? null : "num"}, title)))),
    h("tbody", {}, rows.map(row => h("tr", {class: row.best ? "best" : null}, columns.map(([title, key]) => cell(row, key, title))))));
  section("options", "Options", "Ways to meet the requirement, each measured as far as time allowed.", scrolling("Options", table),
    rows.filter(row => row.why).map(row => h("p", {class: "small"}, `${row.option}: ${row.why}.`)));
})();
