#include "report/html/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "causes/cause_texts.h"
#include "repairs/repair_texts.h"
#include "report/export/pareto.h"
#include "report/text/alternatives_text.h"
#include "report/text/diagnosis_words.h"
#include "report/text/explanation_text.h"
#include "report/text/figures.h"
#include "report/text/first_screen.h"
#include "report/text/how_sure.h"
#include "report/text/numbers.h"
#include "report/text/sections.h"
#include "report/told.h"
#include "vernier/format.h"
#include "vernier/report/causes.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"
#include "vernier/report/outcome.h"
#include "vernier/requirement.h"
#include "vernier/verdict.h"

namespace vernier {
namespace {

constexpr std::size_t kMostSizes = 500;  // of sets that were tried

/// "2.1 dB above the required 20 dB"; empty where there is no margin to tell.
std::string margin_text(const RunFigures& run, const Requirement& requirement) {
  const OutputFigure* figure = deciding_output(run, requirement);
  if (figure == nullptr) return {};
  const std::optional<double> value = metric_value(requirement.metric, *figure);
  const std::optional<double> limit = requirement.limit_for(figure->name);
  if (!value || !limit || !std::isfinite(*value)) return {};
  const std::string required = required_text(run, requirement);
  const double margin = *value - *limit;
  const char* side = margin < 0 ? "below" : "above";
  // What is sure of new samples decides, where it is known.
  if (run.passed == false && margin >= 0) {
    if (requirement.metric == Metric::MinSqnrDb && figure->sqnr_above) {
      return fmt::format("{:.1f} dB on new samples, below {}", *figure->sqnr_above, required);
    }
    return fmt::format("not sure on new samples: {}", required);
  }
  if (requirement.metric == Metric::MinSqnrDb) {
    const std::string bound = bound_clause(run, requirement);
    if (margin < 0 || bound.empty()) return fmt::format("{:.1f} dB {} {}", std::abs(margin), side, required);
    return fmt::format("{}; {} is met", bound.substr(2), required);
  }
  if (requirement.metric == Metric::MinTop1Agreement) {
    return fmt::format("{:.1f} points {} {}", 100 * std::abs(margin), side, required);
  }
  if (!run.damage || !std::isfinite(*run.damage)) return {};
  return fmt::format("{:.3g} times what {} allows", allowance_used(requirement.metric, *run.damage), required);
}

/// What the names of causes and repairs mean, each in a line, by name; one that is both has both.
Json explained_names(const Explanation& explanation) {
  std::set<std::string> ids(explanation.proposals.begin(), explanation.proposals.end());
  for (const Cause& cause : explanation.causes) {
    ids.insert(cause.id);
    ids.insert(cause.repairs.begin(), cause.repairs.end());
  }
  for (const RepairTried& tried : explanation.repairs) ids.insert(tried.id);
  Json causes = Json::Object{}, repairs = Json::Object{};
  for (const std::string& id : ids) {
    if (const std::optional<std::string_view> text = cause_text(id)) causes[id] = told(*text);
    if (const std::optional<std::string> text = repair_text(id)) repairs[id] = told(*text);
  }
  return Json::Object{{"causes", std::move(causes)}, {"repairs", std::move(repairs)}};
}

/// What breaks the network and why, as the first screen of the text has it.
Json first_words(const DiagnoseReport& report) {
  Json::Array damage, why;
  const MainDamage main = main_damage(report);
  for (const LayerRow* row : main.layers) {
    damage.push_back(Json::Object{{"share", percent_text(row->share)},
                                  {"layer", row->name},
                                  {"kept_in", row->kept ? format_title(kept_in(report, row->name)) : ""}});
  }
  if (main.others > 0) {
    damage.push_back(Json::Object{{"share", percent_text(main.share_of_others)}, {"others", others_text(main)}});
  }
  for (const CauseGroup& group : main_causes(report)) {
    Json row = Json::Object{{"text", cause_sentence(group)}, {"possible", group.first->confidence < kLikelyCause}};
    if (!group.layers.empty()) row["layer"] = group.layers.front();
    why.push_back(std::move(row));
  }
  return Json::Object{{"damage", std::move(damage)}, {"damage_of", main.of}, {"why", std::move(why)}};
}

Json texts_of(const std::vector<std::string>& texts) { return Json::Array(texts.begin(), texts.end()); }

Json curve_point(std::size_t kept, const TestRow& test) {
  return Json::Object{{"kept", kept},
                      {"metric", test.metric},
                      {"damage", test.damage},
                      {"bound", test.lower_bound},
                      {"passed", test.verdict == Verdict::Good}};
}

bool better(const TestRow& one, const TestRow& other) {
  const bool passes = one.verdict == Verdict::Good;
  if (passes != (other.verdict == Verdict::Good)) return passes;
  return one.damage < other.damage;
}

}  // namespace

Json format_titles() {
  Json titles = Json::Object{};
  for (const std::string_view name : words_of(Format::Float32)) titles[name] = format_title(*parse_format(name));
  return titles;
}

Json steps_of(const Answer& answer) {
  Json::Array steps;
  for (const NextStep& step : answer.steps) {
    steps.push_back(Json::Object{{"advice", step.advice}, {"command", step.command}});
  }
  return steps;
}

Json page_words(const DiagnoseReport& report) {
  Json words;
  words["low"] = low_text(report);
  words["everything"] = all_low_text(report);
  words["model"] = kOutputModel;
  words["first"] = first_words(report);
  words["lowered"] = lowered_layers(report);
  words["all_low"] = figure_text(report.all_low, report.requirement);
  if (report.repaired) words["repaired"] = figure_text(*report.repaired, report.requirement);
  if (report.final_figures) words["final"] = figure_text(*report.final_figures, report.requirement);
  if (report.requirement) {
    words["required"] = required_text(report.final_figures.value_or(report.all_low), *report.requirement);
    words["requirement"] = requirement_text(*report.requirement);
    Json margins;
    margins["all_low"] = margin_text(report.all_low, *report.requirement);
    if (report.repaired) margins["repaired"] = margin_text(*report.repaired, *report.requirement);
    if (report.final_figures) margins["final"] = margin_text(*report.final_figures, *report.requirement);
    words["margins"] = margins;
  }
  const bool ranked = is_measured(report.layers, &LayerRow::sensitivity_db);
  words["legend"] = fmt::format("{}; {}", kLocalLegend, kPropagatedLegend) +
                    (ranked ? fmt::format("; {}; {}", kSensitivityLegend, kShareLegend) : "");
  words["metric"] = report.requirement ? std::string(word_of(report.requirement->metric)) : "SQNR dB";
  words["scheme"] = scheme_words(report.scheme);
  words["runner"] = runner_text(report.runner, report.on_gpu);
  words["same_samples"] = calibrated_on_same_samples(report);
  if (!report.alternatives.empty()) {
    Json::Array options;
    const std::vector<AlternativeWords> all = alternative_words(report);
    words["option_remarks"] = texts_of(alternative_remarks(all));
    for (const AlternativeWords& row : all) {
      if (!row.measured) continue;
      options.push_back(Json::Object{{"option", row.option},
                                     {"kept", row.kept},
                                     {"work", row.work},
                                     {"result", row.result},
                                     {"bound", row.bound},
                                     {"same_top1", row.same_top1},
                                     {"worse", row.worse},
                                     {"ms", row.ms},
                                     {"end", row.end},
                                     {"best", row.best},
                                     {"answer", row.answer}});
    }
    words["options"] = std::move(options);
  }
  if (report.kept) {
    Json without;
    for (const CertificateRow& row : report.kept->certificate) {
      const CertificateWords text = certificate_words(report, row);
      without[row.layer] = Json::Object{{"result", text.result}, {"on_samples", text.on_samples}, {"used", text.used}};
    }
    words["without"] = std::move(without);
    words["certified_figure"] = certified_figure(report);
  }
  if (report.explanation) words["explained"] = explained_names(*report.explanation);
  if (const std::vector<CauseGroup> groups = cause_groups(report); !groups.empty()) {
    Json::Array causes;
    for (const CauseGroup& group : groups) {
      causes.push_back(
          Json::Object{{"first", static_cast<std::size_t>(group.first - report.explanation->causes.data())},
                       {"sure", group.first->confidence >= kLikelyCause},
                       {"layers", texts_of(group.layers)},
                       {"share", group.share},
                       {"damage", damage_of(group)},
                       {"repairs", texts_of(group.repairs)},
                       {"of_some", texts_of(group.of_some)},
                       {"lesser", group.lesser}});
    }
    words["causes"] = std::move(causes);
  }
  if (const std::string sentence = only_rounding(report); !sentence.empty()) words["only_rounding"] = sentence;
  if (report.kept && !report.kept->layers.empty()) words["cost"] = cost_text(*report.kept);
  return words;
}

Json kept_curve(const DiagnoseReport& report) {
  if (!report.kept) return {};
  std::map<std::size_t, const TestRow*> best;  // by the number of kept layers
  for (const TestRow& test : report.kept->tests) {
    if (test.verdict != Verdict::Good && test.verdict != Verdict::Bad) continue;
    const TestRow*& at = best[test.layers.size()];
    if (at == nullptr || better(test, *at)) at = &test;
  }
  Json::Array points;
  for (const auto& [kept, test] : best) {
    if (points.size() == kMostSizes) break;
    points.push_back(curve_point(kept, *test));
  }
  Json curve = Json::Object{
      {"points", std::move(points)}, {"answer", report.kept->layers.size()}, {"on_new", on_new_samples(report)}};
  if (report.requirement && report.requirement->limits.size() == 1) {
    curve["limit"] = report.requirement->limits.front().value;
  }
  return curve;
}

namespace {

Reservation reservation(const DiagnoseReport& report) {
  return reservation_of(report, report.final_figures.value_or(report.all_low));
}

}  // namespace

const char* outcome_class(const DiagnoseReport& report) {
  const Outcome outcome = outcome_of(report);
  const bool missed = is_missed(outcome);
  const bool plainly = outcome != Outcome::NothingLeft && reservation(report).empty();
  return met(report) && plainly ? "met" : missed ? "missed" : "open";
}

std::string verdict_words(const DiagnoseReport& report) {
  const std::string_view outcome = outcome_class(report);
  if (outcome == "met") return "\u2713 Requirement met";
  const Outcome exact = outcome_of(report);
  if (exact == Outcome::NotVerified) return "Not verified";
  if (exact == Outcome::Refused) return "\u2715 ONNX Runtime refuses it";
  if (exact == Outcome::NothingLeft) return "Met, with nothing left in " + low_text(report);
  if (exact == Outcome::NoFloatModel) return "Float model needed";
  if (met(report) && outcome == "open") return reservation(report).badge;
  return outcome == "missed" ? "\u2715 Requirement missed" : "No verdict";
}

std::pair<std::string, std::string> first_sentence(const std::string& text) {
  for (std::size_t at = text.find(". "); at != std::string::npos; at = text.find(". ", at + 1)) {
    const unsigned char next = at + 2 < text.size() ? static_cast<unsigned char>(text[at + 2]) : 0;
    if (std::isupper(next) != 0 || std::isdigit(next) != 0) return {text.substr(0, at + 1), text.substr(at + 2)};
  }
  return {text, {}};
}

}  // namespace vernier
