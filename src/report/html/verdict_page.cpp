// The page of `vernier verify`.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>

#include "base/text.h"
#include "report/html/page.h"
#include "report/html/parts.h"
#include "report/html/words.h"
#include "report/json/document.h"
#include "report/text/figures.h"
#include "report/text/verify_answer.h"
#include "vernier/report/outcome.h"
#include "vernier/report/text.h"
#include "vernier/report/verify.h"

namespace vernier {
namespace {

std::string verdict_words(const VerifyReport& report) {
  switch (outcome_of(report)) {
    case Outcome::Met:
      if (plainly_met(report)) return "\u2713 Requirement met";
      return reservation_of(report).empty() ? "Met with FP32 accumulation" : reservation_of(report).badge;
    case Outcome::Missed:
      return "\u2715 Requirement missed";
    case Outcome::Refused:
      return "\u2715 An engine refuses it";
    case Outcome::NothingLeft:
      return "\u2715 No layer in low precision";
    case Outcome::NoFloatModel:
      return "Float model needed";
    default:
      return "No verdict";
  }
}

const char* outcome_class(const VerifyReport& report) {
  const Outcome outcome = outcome_of(report);
  if (outcome == Outcome::Missed || outcome == Outcome::Refused || outcome == Outcome::NothingLeft) return "missed";
  return plainly_met(report) ? "met" : "open";
}

/// What the text says too, in the same words.
Json page_words(const VerifyReport& report) {
  Json words;
  words["figure"] = figure_text(deciding_figures(report), report.requirement);
  if (report.requirement) {
    words["required"] = required_text(deciding_figures(report), *report.requirement);
    words["requirement"] = requirement_text(*report.requirement);
  }
  const auto refused = static_cast<std::size_t>(std::ranges::count_if(report.defects, &FoundDefect::refused));
  words["findings"] = refused > 0 ? fmt::format("{} refused by engines", refused) : "in the file and its values";
  Json::Array placements;
  for (const EnginePlacement& row : report.placements) {
    placements.push_back(Json::Object{{"target", std::string(word_of(row.target))},
                                      {"text", placement_text(row)},
                                      {"fused", row.refused.empty() && row.not_fused == 0}});
  }
  words["placements"] = std::move(placements);
  words["placement_evidence"] = placement_evidence(report);
  return words;
}

}  // namespace

std::string report_to_html(const VerifyReport& report) {
  const Answer answer = answer_of(report);
  Json data;
  data["report"] = document_of(report);
  data["steps"] = steps_of(answer);
  data["formats"] = format_titles();
  data["words"] = page_words(report);
  const std::string file = printable(std::filesystem::path(report.typed_file).filename().string());
  const auto [headline, further] = first_sentence(answer.sentence);
  TextOptions plain;
  plain.whole_names = true;
  return filled_page({{"version", html_text(printable(report.vernier_version))},
                      {"brand", "vernier verify"},
                      {"title", html_text(fmt::format("{}: verdict", file))},
                      {"model", html_text(fmt::format("{} against {}, {}", printable(report.typed_file),
                                                      printable(report.float_file), plural(report.samples, "sample")))},
                      {"outcome", outcome_class(report)},
                      {"verdict", verdict_words(report)},
                      {"answer", html_text(headline)},
                      {"further", html_text(further)},
                      {"text", html_text(report_to_text(report, plain))},
                      {"style", std::string(page_style())},
                      {"data", json_in_html(data)},
                      {"script", verdict_script()}});
}

}  // namespace vernier
