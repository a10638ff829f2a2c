// The page as Markdown, for an issue or a mail: the answer, before and after, the options, the causes, the command.
function markdownCell(text) { return String(text).replace(/\s+/g, " ").replace(/([\\`*_{}\[\]<>#|~])/g, "\\$1"); }
function markdownCode(text) {
  const inside = shown(text), fence = "`".repeat(1 + Math.max(0, ...(inside.match(/`+/g) || []).map(run => run.length)));
  return fence + (fence.length > 1 ? " " + inside + " " : inside) + fence;
}
function markdownTable(heads, rows) {
  const line = cells => "| " + cells.join(" | ") + " |";
  return [line(heads), line(heads.map(() => "---")), ...rows.map(line)].join("\n");
}
function asMarkdown() {
  const parts = ["## " + markdownCell(document.querySelector("h1").textContent), markdownCell(document.querySelector(".model").textContent)];
  const further = document.querySelector(".further").textContent;
  if (further) parts.push(markdownCell(further));
  const taken = steps();
  if (taken.length) parts.push(markdownTable(["", "result", ""], taken.map(step => [step.what, step.text, step.more || ""].map(markdownCell))));
  const options = page.words.options || [];
  if (options.length) parts.push("### Options", markdownTable(["option", "kept", "of the work", "result", "requirement"], options.map(row => [row.option, row.kept, row.work, row.result, row.end + (row.best ? ", the least work" : "")].map(markdownCell))));
  const kept = (report.kept || {}).layers || [];
  if (kept.length) parts.push(report.kept.ladder ? "### Raised" : `### Kept in ${formatTitle(report.high)}`, kept.slice(0, 30).map(layer => "- " + markdownCode(layer) + (rungs.has(layer) ? " in " + formatTitle(rungs.get(layer)) : "")).join("\n") + (kept.length > 30 ? `\n- and ${kept.length - 30} more` : ""));
  const groups = page.words.causes || [];
  if (groups.length) {
    parts.push("### Why", groups.map(group => { const first = explanation.causes[group.first];
      return `- **${markdownCell(first.id)}**` + (group.layers.length ? `, ${many(group.layers.length, "layer")}` : "") + (group.share > 0 ? `, ${percent(group.share)} of the damage` : "") + ": " + (first.layer ? markdownCode(first.layer) + ": " : "") + markdownCell(shown(first.sentence || "")); }).join("\n"));
  }
  if (report.command) parts.push("### Reproduce", "```sh\n" + shown(report.command) + "\n```", markdownCell(`vernier ${report.vernier_version}, ONNX Runtime ${report.onnxruntime_version}, ${shown(page.words.runner)}`));
  return parts.join("\n\n") + "\n";
}
document.getElementById("place-copy").append(copyButton("Copy as Markdown", asMarkdown()));
