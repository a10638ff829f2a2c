#include "report/text/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/counts.h"
#include "base/layout.h"
#include "base/text.h"
#include "options/bounded_metric.h"
#include "report/text/numbers.h"
#include "report/told.h"
#include "vernier/note.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/verify.h"

namespace vernier {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double ratio(double used, double allowed) { return used <= 0 ? 0 : allowed > 0 ? used / allowed : kInfinity; }

/// Orders outputs by how much of their allowance they use; comparable between outputs of one metric only.
double strain(Metric metric, double value, double limit) {
  switch (metric) {
    case Metric::MinSqnrDb:
      return limit - value;
    case Metric::MaxAbsError:
    case Metric::MaxMse:
      return ratio(value, limit);
    case Metric::MinCosine:
    case Metric::MinTop1Agreement:
      return ratio(1 - value, 1 - limit);
  }
  return 0;
}

}  // namespace

std::optional<double> metric_value(Metric metric, const OutputFigure& figure) {
  switch (metric) {
    case Metric::MinSqnrDb:
      return figure.sqnr_db;
    case Metric::MaxAbsError:
      return figure.max_abs_error;
    case Metric::MaxMse:
      return figure.mse;
    case Metric::MinCosine:
      return figure.cosine;
    case Metric::MinTop1Agreement:
      return figure.top1_agreement;
  }
  return std::nullopt;
}

std::optional<double> bound_on_new_samples(const OutputFigure& figure, const std::optional<Requirement>& requirement) {
  if (!requirement || requirement->confidence <= 0.5) return std::nullopt;
  const std::optional<double> value = metric_value(requirement->metric, figure);
  if (!value) return std::nullopt;
  if (requirement->metric == Metric::MinTop1Agreement) {
    return figure.top1_above ? std::optional(std::min(*value, *figure.top1_above)) : std::nullopt;
  }
  if (!figure.sqnr_above || requirement->metric == Metric::MaxAbsError) return std::nullopt;
  return bounded_metric(requirement->metric, *value, figure.sqnr_db, *figure.sqnr_above);
}

std::string bound_clause(const RunFigures& run, const std::optional<Requirement>& requirement) {
  const OutputFigure* figure = deciding_output(run, requirement);
  const auto bound = figure == nullptr ? std::nullopt : bound_on_new_samples(*figure, requirement);
  if (!bound || !std::isfinite(*bound)) return {};
  const Metric metric = requirement->metric;
  return fmt::format(", {} {} on new samples ({:g} % sure)", metric == Metric::MaxMse ? "below" : "above",
                     metric_text(metric, *bound, requirement->limit_for(figure->name)), 100 * requirement->confidence);
}

const OutputFigure* deciding_output(const RunFigures& run, const std::optional<Requirement>& requirement) {
  const OutputFigure* worst = nullptr;
  double most = -kInfinity;
  for (const OutputFigure& figure : run.outputs) {
    double used = -figure.sqnr_db;
    if (requirement) {
      const std::optional<double> limit = requirement->limit_for(figure.name);
      const std::optional<double> value = metric_value(requirement->metric, figure);
      if (!limit || !value) continue;
      used = strain(requirement->metric, bound_on_new_samples(figure, requirement).value_or(*value), *limit);
    }
    if (std::isnan(used)) used = kInfinity;
    if (worst == nullptr || used > most) {
      worst = &figure;
      most = used;
    }
  }
  return worst;
}

bool is_measured(const std::vector<LayerRow>& layers, std::optional<double> LayerRow::*figure) {
  return std::ranges::any_of(layers, [&](const LayerRow& row) { return (row.*figure).has_value(); });
}

std::optional<double> same_top1(const RunFigures& run) {
  std::optional<double> least;
  for (const OutputFigure& figure : run.outputs) {
    if (figure.top1_agreement) least = std::min(least.value_or(1), *figure.top1_agreement);
  }
  return least;
}

namespace {

std::string figure_phrase(const RunFigures& run, const std::optional<Requirement>& requirement, const char* sqnr) {
  const OutputFigure* figure = deciding_output(run, requirement);
  if (figure == nullptr) return "not measured";
  const Metric metric = requirement ? requirement->metric : Metric::MinSqnrDb;
  std::optional<double> limit;
  if (requirement) limit = requirement->limit_for(figure->name);
  std::string text = metric_text(metric, metric_value(metric, *figure).value_or(0), limit);
  if (figure->nonfinite > 0) {
    text = count_text(figure->nonfinite) + " output values that are not finite";
  } else if (figure->lost_infinities > 0 && metric != Metric::MinTop1Agreement) {
    text = plural(static_cast<std::size_t>(figure->lost_infinities), "infinite output value") + " lost";
  } else if (metric == Metric::MinSqnrDb) {
    text = sqnr + text;
  } else if (metric == Metric::MaxAbsError) {
    text = "a largest error of " + text;
  } else if (metric == Metric::MaxMse) {
    text = "a mean squared error of " + text;
  } else if (metric == Metric::MinCosine) {
    text = "a cosine of " + text;
  } else if (metric == Metric::MinTop1Agreement) {
    text += " top-1 agreement";
  }
  if (run.outputs.size() > 1) text += fmt::format(" at output '{}'", shorten_middle(printable(figure->name), 40));
  return text;
}

}  // namespace

std::string figure_text(const RunFigures& run, const std::optional<Requirement>& requirement) {
  return figure_phrase(run, requirement, "");
}

std::string named_figure(const RunFigures& run, const std::optional<Requirement>& requirement) {
  return figure_phrase(run, requirement, "SQNR ");
}

std::string figure_in_sentence(const RunFigures& run, const std::optional<Requirement>& requirement) {
  return figure_phrase(run, requirement, "an SQNR of ");
}

std::string nonfinite_clause(const RunFigures& run) {
  if (!run.nonfinite_inside) return {};
  return fmt::format(", but '{}' ({}) overflows inside the network", printable(run.nonfinite_inside->first),
                     run.nonfinite_inside->op_type);
}

namespace {

bool missed_without_vnni(const std::optional<SaturatedPairs>& saturated) {
  return saturated && saturated->figures.passed == false &&
         std::ranges::any_of(saturated->layers,
                             [](const SaturatedPairs::Layer& layer) { return layer.data == Format::UInt8; });
}

/// The note that the requirement is missed in ONNX Runtime with its default optimizations; null: there is none.
const Note* missed_by_default(const std::vector<Note>& notes) {
  const auto found = std::ranges::find_if(notes, [](const Note& note) {
    const NoteValue* const missed = note.code == "lost-by-default-optimizations" ? note.find("missed") : nullptr;
    return missed != nullptr && *missed == NoteValue(true);
  });
  return found == notes.end() ? nullptr : &*found;
}

const std::vector<Note>& notes_of_file(const VerifyReport& report) { return report.notes; }
const std::vector<Note>& notes_of_file(const DiagnoseReport& report) {
  static const std::vector<Note> kNone;
  return report.typed ? report.typed->notes : kNone;
}

template <typename Report>
Reservation reservation_in(const Report& report, const RunFigures& figures) {
  Reservation open;
  const auto add = [&](std::string clause, std::string badge) {
    open.clause += clause;
    if (open.badge.empty()) open.badge = std::move(badge);
  };
  if (figures.nonfinite_inside) add(nonfinite_clause(figures), "Met, but a layer overflows");
  if (report.engine) return open;
  if (missed_without_vnni(report.saturated_pairs)) {
    add(fmt::format(", but {} on x86 CPUs without VNNI in {}",
                    figure_text(report.saturated_pairs->figures, report.requirement),
                    report.saturated_pairs->runtime == Target::OpenVino ? "OpenVINO" : "ONNX Runtime"),
        "Met, except on CPUs without VNNI");
  }
  const Note* lost = missed_by_default(notes_of_file(report));
  if (lost == nullptr) lost = missed_by_default(report.warnings);
  if (const std::string figure = lost == nullptr ? "" : lost->text_of("there"); !figure.empty()) {
    add(fmt::format(", but {} in ONNX Runtime with its default optimizations", figure),
        "Met, except with ONNX Runtime's defaults");
  }
  if (const auto& nodes = report.not_simulated) {
    const std::string count = plural(nodes->nodes, "node");
    const std::string_view engine = nodes->engine_name();
    add(nodes->refused ? fmt::format(", but only in simulation: {} rejects {}", engine, count)
                       : fmt::format(", but only in simulation: {} computes {} differently", engine, count),
        fmt::format("Met in simulation, {} {}", nodes->refused ? "rejected by" : "not measured in", engine));
  }
  return open;
}

}  // namespace

Reservation reservation_of(const DiagnoseReport& report, const RunFigures& figures) {
  return reservation_in(report, figures);
}
Reservation reservation_of(const VerifyReport& report) { return reservation_in(report, report.figures); }

double allowance_used(Metric metric, double damage) {
  return metric == Metric::MaxAbsError ? std::sqrt(damage) : damage;
}

std::string required_text(const RunFigures& run, const Requirement& requirement) {
  const OutputFigure* figure = deciding_output(run, requirement);
  if (figure == nullptr) return "the requirement";
  return "the required " + limit_text(requirement.metric, requirement.limit_for(figure->name).value_or(0));
}

std::string sums_text(Accumulate accumulate) {
  return accumulate == Accumulate::Float16 ? "FP16 accumulation" : "FP32 accumulation";
}

bool missed_as_measured(const std::optional<OtherSums>& other) {
  return other && other->accumulate == Accumulate::Float16 && other->figures.passed == false;
}

namespace {

/// The samples meet it, and fewer than the asked share of new ones would.
bool only_new_samples_miss(const RunFigures& run, const Requirement& requirement) {
  const OutputFigure* figure = deciding_output(run, requirement);
  if (run.passed != false || requirement.confidence <= 0.5 || figure == nullptr || figure->nonfinite > 0) return false;
  const double limit = requirement.limit_for(figure->name).value_or(0);
  const double value = metric_value(requirement.metric, *figure).value_or(0);
  const bool in_db = requirement.metric == Metric::MinSqnrDb;
  if (!in_db && requirement.margin_db > 0) return false;
  const double most = in_db ? -requirement.margin_db : 1;
  return figure->lost_infinities == 0 && strain(requirement.metric, value, limit) <= most;
}

}  // namespace

std::string other_sums_sentence(const OtherSums& other, const std::optional<Requirement>& requirement) {
  const char* const how = other.accumulate == Accumulate::Float16
                              ? "With FP16 accumulation, as measured on TensorRT-RTX (--accumulate float16)"
                              : "With FP32 accumulation";
  std::string text = fmt::format("{}, {}", how, figure_text(other.figures, requirement));
  if (requirement && other.figures.passed) {
    const std::string required = required_text(other.figures, *requirement);
    text += only_new_samples_miss(other.figures, *requirement)
                ? fmt::format(": {} is met on these samples, but not with {:g} % confidence on new ones", required,
                              100 * requirement->confidence)
                : fmt::format(": {} is {}", required, *other.figures.passed ? "met" : "missed");
  }
  return text + ".";
}

std::string requirement_text(const Requirement& requirement) {
  std::string text = fmt::format("--{}", word_of(requirement.metric));
  for (std::size_t i = 0; i < requirement.limits.size(); ++i) {
    const Limit& limit = requirement.limits[i];
    text += i > 0 ? ", " : " ";
    if (!limit.output.empty()) text += printable(limit.output) + " ";
    text += limit_text(requirement.metric, limit.value);
  }
  if (requirement.margin_db > 0) text += fmt::format(", {:g} dB of that as margin", requirement.margin_db);
  return text;
}

std::string right_text(const TestRow& test) {
  std::string text = fmt::format(": {} right", percent_text(test.metric));
  if (test.reference) text += fmt::format(", the float model {}", percent_text(test.reference));
  if (!test.interval) return text;
  return text + fmt::format(". 95 % confidence over these {}: {} to {}", plural(test.samples, "sample"),
                            percent_text(test.interval->low), percent_text(test.interval->high));
}

std::string undecided_text(const SamplingInterval& interval, double value, double limit, const std::string& text,
                           std::size_t samples) {
  if (limit <= interval.low || limit >= interval.high) return {};
  // The width shrinks with the root of the number of samples.
  // The limit lies within the interval, so more than these are needed; the side that it lies on decides how many.
  const double side = limit < value ? value - interval.low : interval.high - value;
  const double ratio = std::max(side / std::max(std::abs(value - limit), 1e-9), 1.0);
  const double wanted =
      std::max(std::ceil(static_cast<double>(samples) * ratio * ratio), static_cast<double>(samples) + 1);
  return fmt::format("These samples do not decide {}: {}.", text,
                     wanted < 1e6 ? fmt::format("about {} would, if the figure stays the same",
                                                count_text(static_cast<std::int64_t>(wanted)))
                                  : "the figure is too close to it for any number of samples");
}

std::string figures_table(const std::vector<std::pair<std::string, const RunFigures*>>& runs,
                          const TextOptions& options) {
  bool nonfinite = false;
  for (const auto& [label, run] : runs) {
    for (const OutputFigure& figure : run->outputs) {
      nonfinite = nonfinite || figure.nonfinite > 0 || figure.reference_nonfinite > 0;
    }
  }
  Table table;
  table.column("", Align::Left);
  table.flexible_column("output");
  table.column("SQNR dB", Align::Right);
  table.column("worst sample", Align::Right, "worst");
  table.column("largest error", Align::Right, "error");
  table.column("cosine", Align::Right);
  table.column("top-1 agreement", Align::Right, "top-1");
  table.column("not finite", Align::Right, "not fin.");
  for (const auto& [label, run] : runs) {
    std::string first = label;
    for (const OutputFigure& figure : run->outputs) {
      std::string lost;
      if (nonfinite) {
        lost = count_text(figure.nonfinite);
        if (figure.lost_infinities > 0) lost += fmt::format(" +{} inf lost", count_text(figure.lost_infinities));
        if (figure.reference_nonfinite > 0) lost += fmt::format(" (ref {})", count_text(figure.reference_nonfinite));
      }
      table.row({first, printable(figure.name), db_text(figure.sqnr_db),
                 fmt::format("{} (#{})", db_text(figure.worst_sqnr_db), figure.worst_sample),
                 fmt::format("{:.3g}", figure.max_abs_error), figure.nonfinite > 0 ? "" : cosine_text(figure.cosine),
                 figure.top1_agreement ? percent_text(figure.top1_agreement) : "", lost});
      first.clear();
    }
  }
  if (table.empty()) return {};
  std::string text = table.text(options.width, options.whole_names);
  std::set<std::string> said;
  for (const auto& [label, run] : runs) {
    for (const OutputFigure& figure : run->outputs) {
      if (!figure.class_axis || !said.insert(figure.name).second) continue;
      text += fmt::format("top-1 agreement of '{}': the largest along axis {} ({})\n", printable(figure.name),
                          *figure.class_axis, told(figure.class_axis_from));
    }
  }
  return text + wrap(
                    "SQNR: energy of the FP32 output over the energy of the error. At 20 dB the error is a tenth as "
                    "large as the output, at 26 dB a twentieth, at 40 dB a hundredth.",
                    options.width, "  ");
}

}  // namespace vernier
