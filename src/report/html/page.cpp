#include "report/html/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/layout.h"
#include "report/export/pareto.h"
#include "report/html/drawing.h"
#include "report/html/parts.h"
#include "report/text/diagnose_answer.h"
#include "report/text/figures.h"
#include "report/text/numbers.h"
#include "report/text/sections.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/text.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostPoints = 500;  // of a list that grows with the search

/// Six digits are more than a screen shows.
void shorten_numbers(Json& json) {
  if (json.is_number_float()) {
    const double value = json.get<double>();
    json = value == 0 || !std::isfinite(value) ? value : std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
  } else if (json.is_structured()) {
    for (Json& item : json) shorten_numbers(item);
  }
}

/// What no page shows and grows with the network: which layers each trial kept.
void leave_out_bulk(Json& report) {
  if (!report.contains("kept")) return;
  Json& kept = report["kept"];
  kept.erase("tests");
  kept.erase("minimal");
  kept.erase("proven");
  if (kept.contains("file_test")) kept["file_test"].erase("layers");
  if (!kept.contains("pareto")) return;
  Json points = Json::array();
  for (Json& point : kept["pareto"]) {
    point["layers"] = point["layers"].size();
    if (point["front"] == true || points.size() < kMostPoints) points.push_back(std::move(point));
  }
  kept["pareto"] = std::move(points);
}

Json drawing_json(const Drawing& drawing) {
  Json json = {{"width", drawing.width},           {"height", drawing.height}, {"box_width", drawing.box_width},
               {"box_height", drawing.box_height}, {"boxes", Json::array()},   {"edges", Json::array()}};
  for (const DrawnBox& box : drawing.boxes) json["boxes"].push_back({{"x", box.x}, {"y", box.y}, {"nodes", box.nodes}});
  for (const auto& [from, to] : drawing.edges) json["edges"].push_back({from, to});
  return json;
}

/// What the text says too, in the same words.
Json words_of(const DiagnoseReport& report) {
  Json words;
  words["low"] = low_text(report);
  words["lowered"] = lowered_layers(report);
  words["all_low"] = figure_text(report.all_low, report.requirement);
  if (report.repaired) words["repaired"] = figure_text(*report.repaired, report.requirement);
  if (report.final_figures) words["final"] = figure_text(*report.final_figures, report.requirement);
  if (report.requirement) {
    words["required"] = required_text(report.final_figures.value_or(report.all_low), *report.requirement);
    words["requirement"] = requirement_text(*report.requirement);
  }
  words["metric"] = report.requirement ? std::string(metric_option(report.requirement->metric).substr(2)) : "SQNR dB";
  words["runner"] = runner_text(report.runner);
  words["same_samples"] =
      report.calibrated_on_evaluation_samples && std::any_of(report.low.begin(), report.low.end(), needs_scale);
  if (report.kept && !report.kept->layers.empty()) words["cost"] = cost_text(*report.kept);
  return words;
}

const char* outcome_class(Outcome outcome) {
  return outcome == Outcome::Met ? "met" : outcome == Outcome::Missed ? "missed" : "open";
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string filled_page(const std::vector<std::pair<std::string_view, std::string>>& places) {
  std::string_view page = page_template();
  std::string text;
  while (!page.empty()) {
    const std::size_t open = page.find("{{");
    text += page.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = page.find("}}", open);
    const std::string_view name = page.substr(open + 2, close - open - 2);
    const auto place = std::find_if(places.begin(), places.end(), [&](const auto& at) { return at.first == name; });
    if (place != places.end()) text += place->second;
    page.remove_prefix(close + 2);
  }
  return text;
}

std::string json_in_html(const nlohmann::ordered_json& json) {
  const std::string text = json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  std::string safe;
  safe.reserve(text.size());
  for (const char c : text) {
    if (c == '<' || c == '>' || c == '&') {
      safe += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string report_to_html(const DiagnoseReport& report) {
  const Answer answer = answer_of(report);
  Json data;
  data["report"] = Json::parse(report_to_json(report));
  leave_out_bulk(data["report"]);
  shorten_numbers(data["report"]);
  data["answer"] = {{"advice", answer.advice}, {"commands", answer.commands}};
  data["words"] = words_of(report);
  data["drawing"] = drawing_json(draw_network(report));
  const std::string file = shown(std::filesystem::path(report.model_file).filename().string());
  TextOptions plain;
  plain.whole_names = true;
  return filled_page({{"version", html_text(shown(report.vernier_version))},
                      {"brand", program_of(report)},
                      {"title", html_text(fmt::format("{} in {}", file, low_text(report)))},
                      {"model", html_text(fmt::format("{} in {}, {} samples", shown(report.model_file),
                                                      low_text(report), report.samples))},
                      {"outcome", outcome_class(answer.outcome)},
                      {"answer", html_text(answer.sentence)},
                      {"text", html_text(report_to_text(report, plain))},
                      {"style", std::string(page_style())},
                      {"data", json_in_html(data)},
                      {"script", page_script()}});
}

}  // namespace vernier
