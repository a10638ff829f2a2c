#include "report/text/alternatives_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "base/layout.h"
#include "base/text.h"
#include "report/text/commands.h"
#include "report/text/figures.h"
#include "report/text/numbers.h"
#include "report/text/sections.h"
#include "report/told.h"
#include "vernier/format.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"

namespace vernier {
namespace {

bool is_format(std::string_view word) {
  static constexpr std::array<std::string_view, 8> kFlags{"--int8", "--fp16",  "--bf16",  "--fp8",
                                                          "--int4", "--int16", "--mxfp8", "--nvfp4"};
  return std::ranges::find(kFlags, word) != kFlags.end();
}

/// What another engine refuses, or has of its own.
bool is_of_one_target(std::string_view word) {
  static constexpr std::array<std::string_view, 4> kOptions{"--target", "--accumulate", "--tf32", "--even-if-slower"};
  return std::ranges::find(kOptions, word) != kOptions.end();
}

std::string end_text(const Alternative& row) {
  switch (row.end) {
    case AlternativeEnd::Met:
      return "met";
    case AlternativeEnd::Unfinished:
      return "met, fewer layers may be enough";
    case AlternativeEnd::Missed:
      return "missed";
    case AlternativeEnd::NotMeasured:
      break;
  }
  return "not measured";
}

std::string share_text(const Alternative& row) {
  return percent_text(static_cast<double>(row.kept_macs) / static_cast<double>(row.total_macs));
}

std::string kept_words(const Alternative& row) {
  return row.kept == 0 ? "no layer" : fmt::format("{} of {}", row.kept, plural(row.lowered, "layer"));
}

std::string figure_cell(const DiagnoseReport& report, const Alternative& row) {
  if (report.kept && !report.kept->by_requirement()) return row.metric ? fmt::format("{:.4g}", *row.metric) : "";
  const OutputFigure* figure = row.figures ? deciding_output(*row.figures, report.requirement) : nullptr;
  if (figure == nullptr) return "";
  const Metric metric = report.requirement ? report.requirement->metric : Metric::MinSqnrDb;
  const std::optional<double> limit = report.requirement ? report.requirement->limit_for(figure->name) : std::nullopt;
  const std::string text = metric_text(metric, metric_value(metric, *figure).value_or(0), limit);
  return row.figures->outputs.size() > 1 ? printable(figure->name) + " " + text : text;
}

/// What decides beside the figure.
std::string bound_cell(const DiagnoseReport& report, const Alternative& row) {
  if (!report.requirement || (report.kept && !report.kept->by_requirement())) return "";
  const OutputFigure* figure = row.figures ? deciding_output(*row.figures, report.requirement) : nullptr;
  const auto bound = figure == nullptr ? std::nullopt : bound_on_new_samples(*figure, report.requirement);
  if (!bound || !std::isfinite(*bound)) return "";
  return metric_text(report.requirement->metric, *bound, report.requirement->limit_for(figure->name));
}

/// "the top-1 agreement of 'logits' falls from 99.0 % to 96.0 %": why the option with the least work is not the answer.
std::string worse_text(const WorseFigure& worse) {
  const auto text = [&](double value) { return worse.top1 ? percent_text(value) : db_text(value) + " dB"; };
  return fmt::format("the {} of '{}' falls from {} to {}", worse.top1 ? "top-1 agreement" : "SQNR",
                     printable(worse.output), text(worse.before), text(worse.now));
}

/// A repair that changed nothing.
bool only_repeats(const Alternative& row, const Alternative* answer) {
  return row.change == "fix" && row.repairs == 0 && answer != nullptr && &row != answer && row.end == answer->end &&
         row.kept == answer->kept && row.kept_macs == answer->kept_macs;
}

}  // namespace

std::string alternative_text(const DiagnoseReport& report, const Alternative& alternative) {
  const bool repaired = answer_of_alternatives(report)->adopted;
  if (alternative.change == "keep") return repaired ? "keep, no repairs" : "keep layers, as found";
  if (alternative.change == "fix") return alternative.adopted ? "repaired (this answer)" : "repair: vernier fix";
  return told(alternative.change);
}

/// The folder of -o gets a name of its own, or the other result would replace this one.
void rename_output(std::vector<std::string>& words, const std::string& change) {
  const std::string suffix = "-" + change.substr(change.find_last_of(" -") + 1);
  const auto renamed = [&](std::string folder) {
    const bool quoted = folder.ends_with('\'');
    if (quoted) folder.pop_back();
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    return folder + suffix + (quoted ? "'" : "");
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    if ((words[i] == "-o" || words[i] == "--output") && i + 1 < words.size()) words[i + 1] = renamed(words[i + 1]);
    if (words[i].starts_with("--output=")) words[i] = renamed(words[i]);
  }
}

std::string command_with(const std::string& command, const std::string& change, bool target) {
  std::vector<std::string> words = words_in(command);
  rename_output(words, change);
  if (change == "fix") {
    const auto verb = std::ranges::find(words, "diagnose");
    if (verb != words.end()) *verb = "fix";
    return fmt::format("{}", fmt::join(words, " "));
  }
  std::vector<std::string> kept;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    if (target ? !is_of_one_target(name) : !is_format(name) && name != "--low") {
      kept.push_back(words[i]);
    } else if (name == words[i] && (name == "--target" || name == "--accumulate" || name == "--low")) {
      ++i;  // its value, too
    }
  }
  return fmt::format("{} {}", fmt::join(kept, " "), change);
}

void say_adopted(const DiagnoseReport& report, Answer& answer) {
  if (report.alternatives.empty() || !answer_of_alternatives(report)->adopted) return;
  const Alternative& found = report.alternatives.front();
  std::string without = "the requirement is missed";
  if (meets(found)) {
    without = fmt::format("{} would stay in {}", kept_words(found), format_title(report.high));
    if (found.total_macs > 0) without += fmt::format(" ({} of the multiply-accumulates)", share_text(found));
  }
  const std::size_t repairs = answer_of_alternatives(report)->repairs;
  answer.sentence +=
      fmt::format(" The network was repaired first ({}): without that, {}.", plural(repairs, "repair"), without);
}

void say_best_alternative(const DiagnoseReport& report, Answer& answer) {
  if (report.alternatives.empty()) return;
  const Alternative* best = best_alternative(report);
  if (best == nullptr) {
    answer.then("None of the measured options meets the requirement: relax it.");
    return;
  }
  const Alternative& found = *answer_of_alternatives(report);
  if (best == &found) return;
  const bool both_work = best->total_macs > 0 && found.total_macs > 0;
  std::string text = fmt::format("{} meets the requirement and keeps {}",
                                 best->change == "fix" ? "vernier fix" : told(best->change), kept_words(*best));
  if (both_work && best->kept > 0) text += fmt::format(" with {} of the work", share_text(*best));
  if (meets(found)) {
    text += fmt::format(", instead of {}", found.kept);
    if (both_work && best->kept > 0) text += fmt::format(" with {}", share_text(found));
  }
  if (best->target) text += ", if you can use that engine";
  if (best->worse) text += ", but " + worse_text(*best->worse);
  answer.first(text + ":", command_with(printable(report.command), told(best->change), best->target.has_value()));
}

std::vector<AlternativeWords> alternative_words(const DiagnoseReport& report) {
  const Alternative* best = best_alternative(report);
  const bool by_top1 = report.requirement && report.requirement->metric == Metric::MinTop1Agreement;
  std::vector<AlternativeWords> all;
  for (const Alternative& row : report.alternatives) {
    AlternativeWords words;
    words.option = alternative_text(report, row);
    words.best = &row == best;
    words.end = end_text(row) + (words.best ? ", least work" : "");
    words.answer = &row == answer_of_alternatives(report);
    if (row.worse) words.worse = worse_text(*row.worse);
    words.why = row.worse ? "not adopted, because " + words.worse : told(row.why);
    words.measured = row.end != AlternativeEnd::NotMeasured;
    words.repeats = only_repeats(row, answer_of_alternatives(report));
    if (words.repeats) {
      words.measured = false;
      words.why = "no repair gains on these samples";
    }
    if (words.measured) {
      words.result = figure_cell(report, row);
      words.bound = bound_cell(report, row);
      const std::optional<double> share = row.figures ? same_top1(*row.figures) : std::nullopt;
      if (share && !by_top1) words.same_top1 = percent_text(share);
    }
    if (meets(row)) {
      words.kept = fmt::format("{} of {}", row.kept, row.lowered);
      if (row.total_macs > 0) words.work = share_text(row);
      if (row.ms) words.ms = ms_text(*row.ms);
    }
    all.push_back(std::move(words));
  }
  return all;
}

std::vector<std::string> alternative_remarks(const std::vector<AlternativeWords>& all) {
  std::vector<std::string> remarks;
  std::vector<std::pair<std::string, std::vector<std::string>>> left_out;  // by reason
  for (const AlternativeWords& row : all) {
    if (row.measured || row.repeats) {
      if (!row.why.empty()) remarks.push_back(fmt::format("{}: {}", row.option, row.why));
      continue;
    }
    const auto same = std::ranges::find(left_out, row.why, [](const auto& reason) { return reason.first; });
    if (same != left_out.end()) {
      same->second.push_back(row.option);
    } else {
      left_out.push_back({row.why, {row.option}});
    }
  }
  for (const auto& [why, options] : left_out) {
    remarks.push_back(fmt::format("not measured: {}{}", fmt::join(options, ", "), why.empty() ? "" : ": " + why));
  }
  return remarks;
}

std::string alternatives_section(const DiagnoseReport& report, const TextOptions& options) {
  if (report.alternatives.empty()) return {};
  Table table;
  table.column("", Align::Left);
  table.column("kept", Align::Right);
  table.column("of the work", Align::Right, "work");
  table.column("result", Align::Right);
  table.stays();
  table.column("bound on new samples", Align::Right, "bound");
  table.stays();
  table.column("top-1 agreement", Align::Right, "top-1");
  table.column("ms", Align::Right);
  table.column("", Align::Left);
  const std::vector<AlternativeWords> all = alternative_words(report);
  for (const AlternativeWords& row : all) {
    if (!row.measured) continue;
    table.row({row.option, row.kept, row.work, row.result, row.bound, row.same_top1, row.ms, row.end});
  }
  std::string whys;
  for (const std::string& remark : alternative_remarks(all)) whys += wrap(remark, options.width, "  ");
  // The answer above ends with an empty line.
  return heading("Options, each measured with a limited number of evaluations", options).substr(1) +
         table.text(options.width, options.whole_names) + whys + "\n";
}

}  // namespace vernier
