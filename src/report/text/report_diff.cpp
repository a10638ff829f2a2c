// Two reports of `vernier diagnose`: what changed from one build to the next, and whether that is worse.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/layout.h"
#include "base/text.h"
#include "report/text/diagnose_answer.h"
#include "report/text/diagnosis_words.h"
#include "report/text/figures.h"
#include "report/text/numbers.h"
#include "report/text/sections.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/marks.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/diff.h"
#include "vernier/report/figures.h"
#include "vernier/report/outcome.h"
#include "vernier/report/text.h"

namespace vernier {
namespace {

void note_setting(ReportDiff& diff, const char* what, const std::string& before, const std::string& after) {
  if (before != after) diff.settings.push_back(fmt::format("{}: {} -> {}", what, printable(before), printable(after)));
}

std::string requirement_of(const DiagnoseReport& report) {
  if (!report.requirement) return "none";
  const double sure = report.requirement->confidence;  // that it holds on new samples
  return requirement_text(*report.requirement) + (sure > 0.5 ? fmt::format(", {:g} % sure", 100 * sure) : "");
}

/// Labels, a script or a check that decided in its place.
std::string objective_of(const KeptSetReport& kept) {
  return kept.by_requirement() ? "the requirement" : command_words(kept.objective);
}

std::string with_unit(double db) { return std::isfinite(db) ? db_text(db) + " dB" : db_text(db); }

void compare_figures(const std::string& run, const RunFigures& before, const RunFigures& after, ReportDiff& diff) {
  for (const OutputFigure& was : before.outputs) {
    const auto is = std::find_if(after.outputs.begin(), after.outputs.end(),
                                 [&](const OutputFigure& output) { return output.name == was.name; });
    if (is == after.outputs.end()) {
      diff.worse.push_back(fmt::format("{}: output '{}' is missing", run, printable(was.name)));
      continue;
    }
    const std::string name = fmt::format("{}, SQNR of '{}'", run, printable(was.name));
    diff.figures.push_back({name, was.sqnr_db, is->sqnr_db, true, true});
    // NaN was never better than a number, and equal infinities are no fall.
    const bool fell = std::isnan(is->sqnr_db)
                          ? !std::isnan(was.sqnr_db)
                          : is->sqnr_db != was.sqnr_db && was.sqnr_db - is->sqnr_db > diff.tolerance_db;
    if (fell) diff.worse.push_back(fmt::format("{}: {} -> {}", name, with_unit(was.sqnr_db), with_unit(is->sqnr_db)));
    if (was.top1_agreement && is->top1_agreement) {
      diff.figures.push_back({fmt::format("{}, top-1 agreement of '{}'", run, printable(was.name)), *was.top1_agreement,
                              *is->top1_agreement, true, false, true});
    }
  }
}

void compare_kept(const DiagnoseReport& before, const DiagnoseReport& after, ReportDiff& diff) {
  if (!before.kept || !after.kept) return;
  const std::set<std::string> was(before.kept->layers.begin(), before.kept->layers.end());
  const std::set<std::string> is(after.kept->layers.begin(), after.kept->layers.end());
  std::set_difference(is.begin(), is.end(), was.begin(), was.end(), std::back_inserter(diff.newly_kept));
  std::set_difference(was.begin(), was.end(), is.begin(), is.end(), std::back_inserter(diff.no_longer_kept));
  diff.figures.push_back({"kept layers", static_cast<double>(was.size()), static_cast<double>(is.size()), false});
  note_setting(diff, "decided by", objective_of(*before.kept), objective_of(*after.kept));
  // A stricter requirement takes more layers, of the same build too.
  const bool asked_the_same =
      requirement_of(before) == requirement_of(after) && before.kept->objective == after.kept->objective;
  if (is.size() > was.size() && asked_the_same) {
    diff.worse.push_back(fmt::format("kept layers: {} -> {}", was.size(), is.size()));
  }
}

double moved(const ChangedLayer& layer) {
  if (!layer.own_before_db || !layer.own_after_db || *layer.own_before_db == *layer.own_after_db) return 0;
  const double difference = std::abs(*layer.own_before_db - *layer.own_after_db);
  return std::isnan(difference) ? 1e9 : difference;
}

void compare_layers(const DiagnoseReport& before, const DiagnoseReport& after, ReportDiff& diff) {
  std::unordered_map<std::string, const LayerRow*> was;
  for (const LayerRow& row : before.layers) was[row.name] = &row;
  std::set<std::string> seen;
  for (const LayerRow& row : after.layers) {
    seen.insert(row.name);
    const auto found = was.find(row.name);
    if (found == was.end()) {
      diff.new_layers.push_back(row.name);
      continue;
    }
    const ChangedLayer changed{row.name,        row.op_type,          found->second->own_sqnr_db,
                               row.own_sqnr_db, found->second->share, row.share};
    if (moved(changed) >= 1) diff.layers.push_back(changed);
  }
  for (const LayerRow& row : before.layers) {
    if (!seen.contains(row.name)) diff.gone_layers.push_back(row.name);
  }
  std::stable_sort(diff.layers.begin(), diff.layers.end(),
                   [](const ChangedLayer& a, const ChangedLayer& b) { return moved(a) > moved(b); });
}

std::string names_text(const std::vector<std::string>& names) {
  std::vector<std::string> safe;
  for (const std::string& name : names) safe.push_back(printable(name));
  return list_some(safe, 12);
}

/// Nothing of two networks can be compared where neither the file nor the name of an output is the same.
void refuse_other_network(const DiagnoseReport& before, const DiagnoseReport& after) {
  if (before.model_sha256 == after.model_sha256) return;
  const std::vector<OutputFigure>&was = before.all_low.outputs, &is = after.all_low.outputs;
  if (was.empty() || is.empty()) return;
  for (const OutputFigure& output : was) {
    if (std::ranges::any_of(is, [&](const OutputFigure& other) { return other.name == output.name; })) return;
  }
  throw Error(ErrorCode::Unlike,
              fmt::format("the two reports are of different networks: output '{}' in the earlier one, '{}' in the "
                          "later one, without a common name",
                          printable(was.front().name), printable(is.front().name)),
              "‹diff› compares two builds of one network");
}

}  // namespace

ReportDiff diff_reports(const DiagnoseReport& before, const DiagnoseReport& after, double tolerance_db) {
  refuse_other_network(before, after);
  ReportDiff diff;
  diff.tolerance_db = tolerance_db;
  diff.before_answer = answer_of(before).sentence;
  diff.after_answer = answer_of(after).sentence;
  note_setting(diff, "model", before.model_sha256, after.model_sha256);
  note_setting(diff, "data", before.data_sha256, after.data_sha256);
  note_setting(diff, "samples", std::to_string(before.samples), std::to_string(after.samples));
  note_setting(diff, "scheme", scheme_words(before.scheme), scheme_words(after.scheme));
  note_setting(diff, "low", low_text(before), low_text(after));
  note_setting(diff, "requirement", requirement_of(before), requirement_of(after));
  note_setting(diff, "interrupted", before.interrupted ? "yes" : "no", after.interrupted ? "yes" : "no");
  note_setting(diff, "runner", before.runner, after.runner);
  note_setting(diff, "vernier", before.vernier_version, after.vernier_version);
  note_setting(diff, "ONNX Runtime", before.onnxruntime_version, after.onnxruntime_version);
  // What was so before is no worse: both builds may have nothing left in low precision.
  if (met(before) && exit_code_of(after) != 0 && exit_code_of(after) != exit_code_of(before)) {
    const Outcome outcome = outcome_of(after);
    diff.worse.emplace_back(outcome == Outcome::NothingLeft
                                ? "the requirement is met with nothing left in low precision"
                            : met(after) || outcome == Outcome::Refused ? "the engine refuses the output model"
                            : is_missed(outcome)                        ? "the requirement was met and is now missed"
                                                 : "the requirement was met, and the later build did not measure it");
  }
  compare_figures("all low", before.all_low, after.all_low, diff);
  if (before.final_figures && after.final_figures) {
    compare_figures("final", *before.final_figures, *after.final_figures, diff);
  }
  compare_kept(before, after, diff);
  compare_layers(before, after, diff);
  return diff;
}

std::string diff_to_text(const ReportDiff& diff, const TextOptions& options) {
  const std::string verdict =
      diff.worse.empty()
          ? "The later build is not worse."
          : "The later build is worse: " + diff.worse.front() +
                (diff.worse.size() > 1 ? fmt::format(" (and {} more)", diff.worse.size() - 1) : "") + ".";
  std::string text =
      painted(wrap(verdict, options.width), diff.worse.empty() ? Paint::Good : Paint::Bad, options.color) + "\n";
  text += labelled("Before", diff.before_answer, options.width);
  text += labelled("After", diff.after_answer, options.width);
  if (diff.worse.size() > 1) {
    text += heading("Worse", options);
    for (const std::string& why : diff.worse) text += wrap(why, options.width, "  - ");
  }
  if (!diff.settings.empty()) {
    text += heading("Differences between the two builds", options);
    for (const std::string& setting : diff.settings) text += wrap(setting, options.width, "  - ");
  }
  Table figures;
  figures.flexible_column("figure");
  figures.column("before", Align::Right);
  figures.column("after", Align::Right);
  const auto value = [](const ChangedFigure& figure, double number) {
    return figure.in_db ? db_text(number) : figure.share ? percent_text(number) : fmt::format("{:.4g}", number);
  };
  for (const ChangedFigure& figure : diff.figures) {
    figures.row({figure.name, value(figure, figure.before), value(figure, figure.after)});
  }
  if (!figures.empty()) text += heading("Figures", options) + figures.text(options.width, options.whole_names);
  const auto list = [&](const char* what, const std::vector<std::string>& names) {
    if (!names.empty()) text += labelled(what, names_text(names), options.width);
  };
  if (!diff.newly_kept.empty() || !diff.no_longer_kept.empty() || !diff.new_layers.empty() ||
      !diff.gone_layers.empty()) {
    text += "\n";
  }
  list("Newly kept", diff.newly_kept);
  list("No longer kept", diff.no_longer_kept);
  list("New layers", diff.new_layers);
  list("Removed layers", diff.gone_layers);
  Table layers;
  layers.flexible_column("layer");
  layers.flexible_column("operator");
  layers.column("local dB before", Align::Right, "dB before");
  layers.column("local dB after", Align::Right, "dB after");
  layers.column("share before", Align::Right);
  layers.column("share after", Align::Right);
  const std::size_t rows = options.top == 0 ? diff.layers.size() : std::min(options.top, diff.layers.size());
  for (std::size_t i = 0; i < rows; ++i) {
    const ChangedLayer& layer = diff.layers[i];
    layers.row({printable(layer.name), printable(layer.op_type), db_text(layer.own_before_db),
                db_text(layer.own_after_db), percent_text(layer.share_before), percent_text(layer.share_after)});
  }
  if (layers.empty()) return text;
  text += heading("Layers with a local error that moved by 1 dB or more", options) +
          layers.text(options.width, options.whole_names);
  if (rows < diff.layers.size()) {
    text += fmt::format("  ... and {} (all of them with --top 0)\n", plural(diff.layers.size() - rows, "more layer"));
  }
  return text;
}

}  // namespace vernier
