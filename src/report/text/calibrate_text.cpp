// `vernier calibrate` as text: whether the samples were enough, then the ranges, what most deserves a look first.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/layout.h"
#include "base/text.h"
#include "report/text/numbers.h"
#include "report/text/sections.h"
#include "report/told.h"
#include "vernier/report/calibrate.h"
#include "vernier/report/text.h"

namespace vernier {
namespace {

std::string number(double value) { return fmt::format("{:.4g}", value); }

std::string left_out(const RangeRow& row) {
  std::vector<std::string> parts;
  if (row.mask) {
    parts.push_back(fmt::format("{} of {}", short_count_text(row.mask->count),
                                number(row.mask->low < 0 ? row.mask->low : row.mask->high)));
  }
  if (row.nonfinite > 0) parts.push_back(fmt::format("{} not finite", short_count_text(row.nonfinite)));
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

std::string percent(const std::optional<double>& share, double from) {
  if (!share || *share < from) return "";
  return std::isinf(*share) ? "inf" : fmt::format("{:.0f} %", *share * 100);
}

/// Rows with findings first; then those of the largest difference between halves, as the first line names it, and of
/// equal ones those that grew most; else in the order of the report.
std::vector<const RangeRow*> by_interest(const CalibrateReport& report) {
  std::vector<const RangeRow*> rows;
  for (const RangeRow& row : report.tensors) {
    if (row.quantized) rows.push_back(&row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const RangeRow* a, const RangeRow* b) {
    const auto weight = [](const RangeRow& row) {
      return std::tuple(row.mask || row.nonfinite > 0, row.halves_differ.value_or(0), row.growth.value_or(0));
    };
    return weight(*a) > weight(*b);
  });
  return rows;
}

}  // namespace

std::string report_to_text(const CalibrateReport& report, const TextOptions& options) {
  const auto quantized = static_cast<std::size_t>(
      std::ranges::count_if(report.tensors, [](const RangeRow& row) { return row.quantized; }));
  std::string text;
  if (report.sufficiency) {
    const Sufficiency& found = *report.sufficiency;
    std::string sentence = told(found.text) + ".";
    sentence.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(sentence.front())));
    text += painted(wrap(sentence, options.width), found.enough ? Paint::Good : Paint::Warning, options.color) + "\n";
  }
  text += labelled("Model", printable(report.model_file), options.width);
  text += labelled("Scheme", scheme_words(printable(report.scheme)), options.width);
  if (report.ranges_from.empty()) {
    text += labelled("Data", fmt::format("{} (sha256 {})", printable(report.data), short_hash(report.data_sha256)),
                     options.width);
  } else {
    text += labelled("Ranges", "those of " + printable(report.ranges_from) + "; no sample was read", options.width);
  }
  text += labelled("ONNX Runtime", report.on_gpu ? printable(report.onnxruntime_version) : "", options.width);
  text += labelled("Method", printable(report.method), options.width);
  text += labelled("Answer", told(report.answer), options.width);
  for (const auto& [what, file] : report.files) text += labelled("Written", printable(file), options.width);
  if (report.ranges_from.empty()) text += labelled("Time", fmt::format("{:.1f} s", report.seconds), options.width);

  Table table;
  table.flexible_column("tensor");
  table.column("format", Align::Left);
  table.column("from", Align::Right);
  table.column("to", Align::Right);
  table.column("seen from", Align::Right);
  table.column("seen to", Align::Right);
  table.goes_with_the_one_before();
  table.column("clipped", Align::Right);
  table.column("halves differ", Align::Right, "differ");
  table.stays();
  table.column("still grew", Align::Right, "grew");
  table.stays();
  table.column("left out", Align::Left);
  table.column("method", Align::Left);
  const bool several = std::ranges::any_of(report.tensors, [&](const RangeRow& row) {
    return !row.method.empty() && row.method != report.tensors.front().method;
  });
  std::size_t rows = 0;
  bool clipped = false, differ = false, grew = false;  // which of these columns are there
  for (const RangeRow* row : by_interest(report)) {
    if (options.top != 0 && rows == options.top) break;
    ++rows;
    const bool seen = row->count > 0;
    clipped = clipped || row->clipped.value_or(0) > 0;
    differ = differ || !percent(row->halves_differ, 0.005).empty();
    grew = grew || !percent(row->growth, 0.005).empty();
    table.row({printable(row->tensor), std::string(format_title(row->format)), number(row->min), number(row->max),
               seen ? number(row->seen_min) : "", seen ? number(row->seen_max) : "",
               row->clipped.value_or(0) > 0 ? percent_text(row->clipped) : "", percent(row->halves_differ, 0.005),
               percent(row->growth, 0.005), left_out(*row), several ? row->method : ""});
  }
  std::string legend;
  const auto explain = [&](const char* column, bool used, const char* words) {
    if (used && table.shows(column, options.width, options.whole_names))
      legend += (legend.empty() ? "" : " ") + std::string(words);
  };
  explain("clipped", clipped, "clipped: values beyond the range.");
  explain("halves differ", differ,
          "halves differ: ratio of the ranges of two halves of the samples, wider to narrower.");
  explain("still grew", grew, "still grew: how much the last fifth of the samples widened the range.");
  text += heading(options.top == 0 || quantized <= options.top
                      ? fmt::format("Ranges of {}, the least certain first", plural(quantized, "tensor"))
                      : fmt::format("Ranges of {} of {} tensors, the least certain first", rows, quantized),
                  options) +
          table.text(options.width, options.whole_names);
  if (quantized > rows)
    text += fmt::format("  ... and {} (--top 0 shows all)\n", plural(quantized - rows, "more tensor"));
  if (report.tensors.size() > quantized) {
    text += wrap(fmt::format("and {} that this scheme does not quantize, for engines and plans that read them from the "
                             "file (all of them with --json)",
                             plural(report.tensors.size() - quantized, "tensor")),
                 options.width, "  ");
  }
  if (!legend.empty()) text += wrap(legend, options.width, "  ");
  return text + remarks(report.warnings, report.notes, options);
}

}  // namespace vernier
