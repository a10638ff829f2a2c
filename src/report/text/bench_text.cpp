// `vernier bench` as text and as a table for a pull request.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/counts.h"
#include "base/layout.h"
#include "base/text.h"
#include "report/text/sections.h"
#include "vernier/report/bench.h"
#include "vernier/report/text.h"

namespace vernier {
namespace {

/// Three digits, and never an exponent: "0.0123", "1.23", "12.3", "1234".
std::string latency_text(double ms) {
  const int digits = ms >= 100 ? 0 : ms >= 10 ? 1 : ms >= 1 ? 2 : ms >= 0.1 ? 3 : 4;
  return fmt::format("{:.{}f}", ms, digits);
}

std::string spread_text(const BenchRow& row) {
  return fmt::format("{} to {}", latency_text(row.latency.p10), latency_text(row.latency.p90));
}

std::string rate_text(double per_second) {
  return per_second >= 100 ? count_text(std::llround(per_second)) : fmt::format("{:.3g}", per_second);
}

std::string ratio_text(const TimeRatio& ratio) {
  return ratio.low == ratio.high ? fmt::format("{:.2f}", ratio.ratio)
                                 : fmt::format("{:.2f} ({:.2f} to {:.2f})", ratio.ratio, ratio.low, ratio.high);
}

/// Names of files as short as they are clear.
std::vector<std::string> model_names(const BenchReport& report) {
  std::map<std::string, std::set<std::string>> paths;
  const auto short_name = [](const BenchRow& row) { return std::filesystem::path(row.model).filename().string(); };
  for (const BenchRow& row : report.rows) paths[short_name(row)].insert(row.model);
  std::vector<std::string> names;
  for (const BenchRow& row : report.rows) {
    const std::string name = printable(paths[short_name(row)].size() > 1 ? row.model : short_name(row));
    names.push_back(row.formats.empty() ? name : fmt::format("{} in {}", name, row.formats));
  }
  return names;
}

/// The engine without its device: "ONNX Runtime 1.31.1".
std::string short_engine(const BenchRow& row) { return printable(row.engine.substr(0, row.engine.find(" on "))); }

std::string engine_line(const BenchRow& row) {
  std::vector<std::string> parts{printable(row.engine)};
  if (row.threads > 0) parts.push_back(plural(static_cast<std::size_t>(row.threads), "thread"));
  if (row.built) parts.push_back(plural(row.built->kernels.size(), "kernel"));
  if (row.cuda_graph) parts.emplace_back("launched as a CUDA graph");
  parts.push_back(fmt::format("{} in {:.{}f} s", row.built ? "built" : "made ready", row.build_seconds,
                              row.build_seconds < 1 ? 2 : 1));
  return fmt::format("{}", fmt::join(parts, ", "));
}

bool varies(const BenchReport& report) {
  return std::ranges::any_of(report.rows, [&](const BenchRow& row) { return row.batch != report.rows.front().batch; });
}

std::string what(const BenchReport& report, const std::vector<std::string>& names, std::size_t index) {
  const BenchRow& row = report.rows[index];
  std::string text = fmt::format("{} on {}", names[index], short_engine(row));
  if (varies(report)) text += fmt::format(" with batch {}", row.batch);
  // The same twice, as to see how far the machine repeats itself.
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    if (i == index || names[i] != names[index] || short_engine(report.rows[i]) != short_engine(row)) continue;
    if (report.rows[i].batch == row.batch) return fmt::format("{} (row {})", text, index + 1);
  }
  return text;
}

std::string bench_answer(const BenchReport& report, const std::vector<std::string>& names) {
  const BenchRow& first = report.rows.front();
  if (report.rows.size() == 1) {
    return fmt::format("{} takes {} ms ({} in 8 of 10 runs), {} a second.", what(report, names, 0),
                       latency_text(first.latency.median), spread_text(first),
                       rate_text(first.samples_per_second) + " samples");
  }
  std::size_t best = 0;
  if (varies(report)) {
    for (std::size_t i = 1; i < report.rows.size(); ++i) {
      if (report.rows[i].samples_per_second > report.rows[best].samples_per_second) best = i;
    }
    return fmt::format("The most samples a second, {}, come from {}.", rate_text(report.rows[best].samples_per_second),
                       what(report, names, best));
  }
  for (std::size_t i = 1; i < report.rows.size(); ++i) {
    if (report.rows[i].latency.median < report.rows[best].latency.median) best = i;
  }
  const std::size_t shown = report.rows.size() == 2 ? 1 : best;
  if (shown == 0)
    return fmt::format("{} is the fastest: {} ms.", what(report, names, 0), latency_text(first.latency.median));
  const TimeRatio& ratio = *report.rows[shown].ratio;
  if (ratio.low <= 1 && ratio.high >= 1) {
    return fmt::format("{} takes as long as {} ({} times), within the noise of the rounds.", what(report, names, shown),
                       what(report, names, 0), ratio_text(ratio));
  }
  return fmt::format("{} takes {} times as long as {}.", what(report, names, shown), ratio_text(ratio),
                     what(report, names, 0));
}

std::vector<std::string> clocks_of(const BenchReport& report) {
  std::vector<std::string> lines;
  const auto device = std::ranges::count(report.rows, true, &BenchRow::device_clock);
  if (device > 0) {
    lines.emplace_back(
        "TensorRT's latency is the GPU's own time of an inference, with inputs and outputs on the GPU; with copies: "
        "wall time of copying inputs in, running, and copying outputs out");
  }
  if (device < static_cast<std::ptrdiff_t>(report.rows.size())) {
    lines.emplace_back(device > 0 ? "of the others it is the wall time of a call"
                                  : "wall time of a call, one at a time");
  }
  return lines;
}

std::string measured_text(const BenchReport& report) {
  std::vector<std::string> parts;
  std::size_t fewest = report.rows.front().iterations, rounds = 0;
  for (const BenchRow& row : report.rows) {
    fewest = std::min(fewest, row.iterations);
    rounds = std::max(rounds, row.rounds);
  }
  parts.push_back(report.rows.size() == 1 ? plural(fewest, "run")
                                          : fmt::format("{} or more of each", plural(fewest, "run")));
  if (report.rows.size() > 1) parts.push_back(fmt::format("in {} of all in turn", plural(rounds, "round")));
  parts.push_back(fmt::format("after {:g} ms of warm-up", report.warm_up_ms));
  return fmt::format("{}", fmt::join(parts, ", "));
}

struct Columns {
  bool with_copies = false, ratio = false;
  std::vector<double> percentiles;
};

Columns columns_of(const BenchReport& report) {
  Columns columns;
  for (const BenchRow& row : report.rows) {
    columns.with_copies = columns.with_copies || row.with_copies_ms;
    columns.ratio = columns.ratio || row.ratio;
  }
  for (const auto& [percent, ms] : report.rows.front().latency.percentiles) columns.percentiles.push_back(percent);
  return columns;
}

std::vector<std::string> headings_of(const Columns& columns) {
  std::vector<std::string> headings{"#", "model", "runner", "batch", "median ms", "10 to 90 % ms"};
  for (const double percent : columns.percentiles) headings.push_back(fmt::format("{:g} % ms", percent));
  if (columns.with_copies) headings.emplace_back("with copies ms");
  headings.emplace_back("samples/s");
  if (columns.ratio) headings.emplace_back("of first");
  return headings;
}

std::vector<std::string> cells_of(const Columns& columns, const BenchRow& row, std::size_t index,
                                  const std::string& name) {
  std::vector<std::string> cells{
      std::to_string(index + 1), name, row.runner, std::to_string(row.batch), latency_text(row.latency.median),
      spread_text(row)};
  for (const auto& [percent, ms] : row.latency.percentiles) cells.push_back(latency_text(ms));
  if (columns.with_copies) cells.push_back(row.with_copies_ms ? latency_text(*row.with_copies_ms) : "");
  cells.push_back(rate_text(row.samples_per_second));
  if (columns.ratio) cells.push_back(row.ratio ? ratio_text(*row.ratio) : "1");
  return cells;
}

struct LayerLine {
  std::string name, kind, ms, share;
};

/// The slowest, and what is left.
std::vector<LayerLine> layer_lines(const BenchRow& row, std::size_t top, std::string& rest) {
  double whole = 0, shown = 0;
  for (const BenchLayer& layer : row.layers) whole += layer.ms;
  std::vector<LayerLine> lines;
  const std::size_t rows = top == 0 ? row.layers.size() : std::min(top, row.layers.size());
  for (std::size_t i = 0; i < rows; ++i) {
    const BenchLayer& layer = row.layers[i];
    const std::string name =
        layer.layers.empty() ? fmt::format("({})", printable(layer.kernel)) : list_some(layer.layers, 2);
    lines.push_back({name, printable(layer.kind), latency_text(layer.ms),
                     whole > 0 ? fmt::format("{:.1f}", 100 * layer.ms / whole) : "-"});
    shown += layer.ms;
  }
  if (rows < row.layers.size()) {
    rest = fmt::format("... and {} more, {} ms together (all of them with --top 0)", row.layers.size() - rows,
                       latency_text(whole - shown));
  }
  return lines;
}

std::string layers_section(const BenchRow& row, const std::string& title, const TextOptions& options) {
  if (row.profiled == 0) return "";
  std::string rest;
  Table table;
  table.flexible_column("layers");
  table.column("kind", Align::Left);
  table.column("ms", Align::Right);
  table.column("%", Align::Right);
  for (const LayerLine& line : layer_lines(row, options.top, rest)) {
    table.row({line.name, line.kind, line.ms, line.share});
  }
  return heading("Slowest layers of " + title, options) + table.text(options.width, options.whole_names) +
         (rest.empty() ? "" : "  " + rest + "\n");
}

std::string kernels_section(const BenchRow& row, const std::string& title, const TextOptions& options) {
  if (!row.built) return "";
  Table table;
  table.column("#", Align::Right);
  table.flexible_column("name");
  table.column("kind", Align::Left);
  table.flexible_column("computes");
  for (std::size_t i = 0; i < row.built->kernels.size(); ++i) {
    const EngineKernel& kernel = row.built->kernels[i];
    table.row({std::to_string(i + 1), printable(kernel.name), printable(kernel.kind), list_some(kernel.nodes, 3)});
  }
  return heading("Kernels of " + title, options) + table.text(options.width, options.whole_names);
}

/// "a | b" would end a cell.
std::string cell_text(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) text.insert(at, 1, '\\');
  return text;
}

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) text += " " + cell_text(cell) + " |";
  return text + "\n";
}

}  // namespace

std::string report_to_text(const BenchReport& report, const TextOptions& options, bool kernels) {
  const std::vector<std::string> names = model_names(report);
  std::string text = painted(wrap(bench_answer(report, names), options.width), Paint::Bold, options.color) + "\n";
  text += labelled("Machine", report.machine, options.width);
  text += labelled("Data", printable(report.data), options.width);
  text += labelled("Measured", measured_text(report), options.width);
  text += labelled("Latency", fmt::format("{}", fmt::join(clocks_of(report), "; ")), options.width);
  const Columns columns = columns_of(report);
  Table table;
  for (const std::string& name : headings_of(columns)) {
    if (name == "model") {
      table.flexible_column(name);
    } else {
      table.column(name, name == "runner" ? Align::Left : Align::Right);
    }
  }
  for (std::size_t i = 0; i < report.rows.size(); ++i) table.row(cells_of(columns, report.rows[i], i, names[i]));
  text += "\n" + table.text(options.width, options.whole_names) + "\n";
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    text += labelled(fmt::format("Row {}", i + 1), engine_line(report.rows[i]), options.width);
  }
  if (columns.ratio) {
    text += labelled("of first",
                     fmt::format("median against the first row{}; in parentheses 10 and 90 % of the rounds",
                                 varies(report) ? " of that batch" : ""),
                     options.width);
  }
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    text += layers_section(report.rows[i], what(report, names, i), options);
    if (kernels) text += kernels_section(report.rows[i], what(report, names, i), options);
  }
  return text + remarks(report.warnings, report.notes, options);
}

std::string bench_markdown(const BenchReport& report, std::size_t top_layers) {
  const std::vector<std::string> names = model_names(report);
  const Columns columns = columns_of(report);
  const std::vector<std::string> headings = headings_of(columns);
  std::string text = markdown_row(headings) + "|";
  for (const std::string& name : headings) text += name == "model" || name == "runner" ? "---|" : "---:|";
  text += "\n";
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    text += markdown_row(cells_of(columns, report.rows[i], i, names[i]));
  }
  text += "\n";
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    text += fmt::format("{}. {}\n", i + 1, engine_line(report.rows[i]));
  }
  text += fmt::format("\n{}; {}. Latency: {}. {}, vernier {}, {}.\n",
                      report.data.empty() ? "no data" : printable(report.data), measured_text(report),
                      fmt::join(clocks_of(report), "; "), report.machine, report.vernier_version, report.date);
  for (std::size_t i = 0; i < report.rows.size(); ++i) {
    if (report.rows[i].profiled == 0) continue;
    std::string rest;
    text += fmt::format("\nSlowest layers of {}:\n\n| layers | kind | ms | % |\n|---|---|---:|---:|\n",
                        what(report, names, i));
    for (const LayerLine& line : layer_lines(report.rows[i], top_layers, rest)) {
      text += markdown_row({line.name, line.kind, line.ms, line.share});
    }
    if (!rest.empty()) text += "\n" + rest + "\n";
  }
  return text;
}

}  // namespace vernier
