#include "report/text/diagnosis_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/quote.h"
#include "base/text.h"
#include "report/text/figures.h"
#include "report/text/numbers.h"
#include "vernier/format.h"
#include "vernier/requirement.h"

namespace vernier {
namespace {

/// Below this share of the multiply-accumulates a low format is not what most of the network runs in.
constexpr double kMostOfTheWork = 0.9;

std::string share_of_work(const KeptSetReport& kept) {
  if (kept.total_macs <= 0) return {};
  return fmt::format(" ({} of the multiply-accumulates)",
                     percent_text(static_cast<double>(kept.kept_macs) / static_cast<double>(kept.total_macs)));
}

}  // namespace

const char* program_of(const DiagnoseReport& report) {
  return report.job == DiagnosisJob::Fix ? "vernier fix" : "vernier diagnose";
}

std::string all_low_text(const DiagnoseReport& report) {
  const std::string low = low_text(report);
  return report.excluded == 0 ? low : fmt::format("{} except {}", low, plural(report.excluded, "excluded layer"));
}

bool lowers_a_part(const DiagnoseReport& report) {
  if (!report.work) return false;
  const LoweredWork& work = *report.work;
  return work.deciding > 0 || (work.total_macs > 0 &&
                               static_cast<double>(work.macs) < kMostOfTheWork * static_cast<double>(work.total_macs));
}

std::string lowered_share(const DiagnoseReport& report) {
  if (!lowers_a_part(report)) return {};
  const LoweredWork& work = *report.work;
  const auto share = [](std::int64_t part, std::int64_t whole) {
    return percent_text(static_cast<double>(part) / static_cast<double>(whole));
  };
  std::vector<std::string> shares;
  if (work.deciding == 0) shares.push_back(share(work.macs, work.total_macs) + " of the multiply-accumulates");
  if (work.total_weight_bytes > 0) {
    shares.push_back(share(work.weight_bytes, work.total_weight_bytes) + " of the weight bytes");
  }
  return fmt::format(" ({})", fmt::join(shares, ", "));
}

std::string not_lowered(const DiagnoseReport& report) {
  std::string text;
  if (const std::size_t refused = report.typed ? report.typed->refused : 0; refused > 0) {
    text += fmt::format("; {} could not be lowered (see the notes)", plural(refused, "layer"));
  }
  if (!lowers_a_part(report)) return text;
  const LoweredWork& work = *report.work;
  const std::size_t high = work.recurrent + work.others;
  if (high > 0) {
    const std::string recurrent = work.recurrent > 0 ? plural(work.recurrent, "recurrent layer") : std::string();
    const std::string others = work.others > 0 ? plural(work.others, "other layer") : std::string();
    text += fmt::format("; {}{}{} {} in {}", recurrent, recurrent.empty() || others.empty() ? "" : " and ", others,
                        high == 1 ? "stays" : "stay", format_title(report.high));
  }
  if (work.deciding > 0) {
    text += fmt::format("; {} that only {} picks or conditions {} in FP32", plural(work.deciding, "product"),
                        work.deciding == 1 ? "makes" : "make", work.deciding == 1 ? "stays" : "stay");
  }
  if (work.on_codes > 0) {
    text += fmt::format("; {} on integers stored in the file",
                        work.on_codes == 1 ? "1 layer computes" : plural(work.on_codes, "layer") + " compute");
  }
  return text;
}

const RunFigures& low_figures(const DiagnoseReport& report) {
  return report.repaired ? *report.repaired : report.all_low;
}

bool on_new_samples(const DiagnoseReport& report) {
  const OutputFigure* const decides =
      deciding_output(report.final_figures ? *report.final_figures : report.all_low, report.requirement);
  return report.kept->by_requirement() && decides != nullptr && bound_on_new_samples(*decides, report.requirement);
}

std::string certified_figure(const DiagnoseReport& report) {
  const bool by_bound = std::ranges::any_of(report.kept->certificate,
                                            [](const CertificateRow& row) { return row.on_samples.has_value(); });
  if (!by_bound && !on_new_samples(report)) return "result";
  return fmt::format("bound on new samples ({:g} %)", 100 * report.requirement->confidence);
}

CertificateWords certificate_words(const DiagnoseReport& report, const CertificateRow& row) {
  const Metric metric = report.requirement ? report.requirement->metric : Metric::MinSqnrDb;
  const bool by_task = !report.kept->by_requirement();
  // One limit for all outputs: a result just beyond it gets the digits that say so.
  std::optional<double> limit;
  if (report.requirement && report.requirement->limits.size() == 1) limit = report.requirement->limits.front().value;
  CertificateWords words{"not finite", "", ""};
  if (std::isfinite(row.metric)) {
    words.result = (row.lower_bound ? "at best " : "") +
                   (by_task ? fmt::format("{:.4g}", row.metric) : metric_text(metric, row.metric, limit));
  }
  if (row.on_samples) words.on_samples = metric_text(metric, *row.on_samples, limit);
  if (std::isfinite(row.damage)) {
    const double used = by_task ? row.damage : allowance_used(metric, row.damage * report.kept->room);
    words.used = (row.lower_bound && row.damage < 1e9 ? "at least " : "") + times_text(used);
  } else if (std::isfinite(row.metric) && !std::isnan(row.damage)) {
    words.used = "none allowed";
  }
  return words;
}

std::string low_text(const DiagnoseReport& report) { return formats_text(report.low); }

Format kept_in(const DiagnoseReport& report, const std::string& layer) {
  if (!report.kept || !report.kept->ladder) return report.high;
  const auto& raised = report.kept->ladder->raised;
  const auto found = std::ranges::find(raised, layer, &RaisedLayer::layer);
  return found == raised.end() ? report.high : found->format;
}

std::string raised_text(const KeptSetReport& kept, const char* raised) {
  std::size_t all = 0;
  for (const RungReport& rung : kept.ladder->rungs) all += rung.layers;
  std::vector<std::string> parts;
  for (const RungReport& rung : kept.ladder->rungs) {
    const auto count = std::ranges::count(kept.ladder->raised, rung.format, &RaisedLayer::format);
    if (count == 0) continue;
    parts.push_back(fmt::format("{}{} to {}", count, parts.empty() ? " of " + plural(all, "layer") + raised : "",
                                format_title(rung.format)));
  }
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  }
  return text + share_of_work(kept);
}

std::string kept_text(const DiagnoseReport& report) {
  const KeptSetReport& kept = *report.kept;
  if (kept.ladder) return raised_text(kept, " raised");
  return fmt::format("{} of {} in {}{}", kept.layers.size(), plural(lowered_layers(report), "layer"),
                     format_title(report.high), share_of_work(kept));
}

std::string session_that_runs(const RuntimeCheck& check) {
  std::vector<std::string> names;
  for (const std::string& name : check.crashing_optimizers) names.push_back(python_quote(name));
  return fmt::format("InferenceSession(..., disabled_optimizers=[{}])", fmt::join(names, ", "));
}

}  // namespace vernier
