// The page of a diagnosis as Markdown: the answer, before and after, the options, the causes, the command.
function asMarkdown() {
  const parts = markdownHead();
  const taken = steps();
  if (taken.length) parts.push(markdownTable(["", "result", ""], taken.map(step => [step.what, step.text, step.more || ""].map(markdownCell))));
  const options = page.words.options || [];
  if (options.length) parts.push("### Options", markdownTable(["option", "kept", "of the work", "result", "bound on new samples", "requirement"], options.map(row => [row.option, row.kept, row.work, row.result, row.bound, row.end].map(markdownCell))));
  const kept = (report.kept || {}).layers || [];
  if (kept.length) parts.push(report.kept.ladder ? "### Raised" : `### Kept in ${formatTitle(report.high)}`, kept.slice(0, 30).map(layer => "- " + markdownCode(layer) + (rungs.has(layer) ? " in " + formatTitle(rungs.get(layer)) : "")).join("\n") + (kept.length > 30 ? `\n- and ${kept.length - 30} more` : ""));
  const groups = page.words.causes || [];
  if (page.words.only_rounding) parts.push("### Why", markdownCell(page.words.only_rounding));
  if (groups.length) {
    parts.push("### Why", groups.map(group => { const first = explanation.causes[group.first];
      return `- **${markdownCell(first.id)}**` + (group.layers.length ? `, ${group.lesser ? "main cause of " : ""}${many(group.layers.length, "layer")}` : "") + (group.damage ? `, ${group.damage}` : "") + ": " + (first.layer ? markdownCode(first.layer) + ": " : "") + markdownCell(shown(first.sentence || "")); }).join("\n"));
  }
  return markdownText([...parts, ...markdownEnd(shown(page.words.runner))]);
}
offerMarkdown(asMarkdown());
