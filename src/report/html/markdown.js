// A page as Markdown, for an issue or a mail.
function markdownCell(text) { return String(text).replace(/\s+/g, " ").replace(/([\\`*_{}\[\]<>#|~])/g, "\\$1"); }
function markdownCode(text) {
  const inside = shown(text), fence = "`".repeat(1 + Math.max(0, ...(inside.match(/`+/g) || []).map(run => run.length)));
  return fence + (fence.length > 1 ? " " + inside + " " : inside) + fence;
}
function markdownTable(heads, rows) {
  const line = cells => "| " + cells.join(" | ") + " |";
  return [line(heads), line(heads.map(() => "---")), ...rows.map(line)].join("\n");
}
/** The beginning that all pages have: the answer and what it is of. */
function markdownHead() {
  const further = document.querySelector(".further").textContent;
  return ["## " + markdownCell(document.querySelector("h1").textContent), markdownCell(document.querySelector(".model").textContent), ...(further ? [markdownCell(further)] : [])];
}
/** The end that all have: how to make it again. */
function markdownEnd(runner) {
  return report.command ? ["### Reproduce", "```sh\n" + shown(report.command) + "\n```", markdownCell([`vernier ${report.vernier_version}`, `ONNX Runtime ${report.onnxruntime_version}`, runner].filter(Boolean).join(", "))] : [];
}
function markdownText(parts) { return parts.join("\n\n") + "\n"; }
function offerMarkdown(text) { document.getElementById("place-copy").append(copyButton("Copy as Markdown", text)); }
