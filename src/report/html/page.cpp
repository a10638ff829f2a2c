#include "report/html/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <tuple>

#include "base/text.h"
#include "report/html/drawing.h"
#include "report/html/parts.h"
#include "report/html/words.h"
#include "report/json/document.h"
#include "report/text/diagnose_answer.h"
#include "report/text/diagnosis_words.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/text.h"

namespace vernier {
namespace {

constexpr std::size_t kMostPoints = 500;  // of a list that grows with the search

/// Six digits are more than a screen shows, except of a cosine.
void shorten_numbers(Json& json) {
  if (json.is_array()) {
    for (Json& item : json.items()) shorten_numbers(item);
  } else if (json.is_object()) {
    for (Json::Member& member : json.members()) {
      if (member.key != "cosine") shorten_numbers(member.value);
    }
  } else if (json.kind() == Json::Kind::Number && std::isfinite(json.number()) && json.number() != 0) {
    json = std::strtod(fmt::format("{:.6g}", json.number()).c_str(), nullptr);
  }
}

/// What no page shows and grows with the network: which layers each trial kept.
void leave_out_bulk(Json& report) {
  Json* const kept = report.find("kept");
  if (kept == nullptr) return;
  for (const char* const list : {"tests", "minimal", "proven"}) kept->erase(list);
  for (const char* const name : {"file_test", "engine_test"}) {
    if (Json* const test = kept->find(name)) test->erase("layers");
  }
  Json* const pareto = kept->find("pareto");
  if (pareto == nullptr) return;
  Json::Array points;
  for (Json& point : pareto->items()) {
    point["layers"] = point.at("layers").size();
    if (point.at("front").boolean() || points.size() < kMostPoints) points.push_back(std::move(point));
  }
  *pareto = std::move(points);
}

}  // namespace

template <>
struct Fields<DrawnBox> {
  static constexpr auto list =
      std::tuple{Field{"x", &DrawnBox::x}, Field{"y", &DrawnBox::y}, Field{"nodes", &DrawnBox::nodes}};
};

template <>
struct Fields<Drawing> {
  static constexpr auto list =
      std::tuple{Field{"width", &Drawing::width},         Field{"height", &Drawing::height},
                 Field{"box_width", &Drawing::box_width}, Field{"box_height", &Drawing::box_height},
                 Field{"boxes", &Drawing::boxes},         Field{"edges", &Drawing::edges}};
};

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

std::string json_in_html(const Json& json) {
  const std::string text = json_text(json, {.spaces = false, .ascii = true});
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
  data["report"] = document_of(report);
  leave_out_bulk(data["report"]);
  shorten_numbers(data["report"]);
  data["steps"] = steps_of(answer);
  data["formats"] = format_titles();
  data["words"] = page_words(report);
  data["curve"] = kept_curve(report);
  shorten_numbers(data["curve"]);
  data["drawing"] = json_of(draw_network(report));
  const std::string file = printable(std::filesystem::path(report.model_file).filename().string());
  const auto [headline, further] = first_sentence(answer.sentence);
  TextOptions plain;
  plain.whole_names = true;
  return filled_page({{"version", html_text(printable(report.vernier_version))},
                      {"brand", program_of(report)},
                      {"title", html_text(fmt::format("{} in {}", file, low_text(report)))},
                      {"model", html_text(fmt::format("{} in {}, {}", printable(report.model_file), low_text(report),
                                                      plural(report.samples, "sample")))},
                      {"outcome", outcome_class(report)},
                      {"verdict", html_text(verdict_words(report))},
                      {"answer", html_text(headline)},
                      {"further", html_text(further)},
                      {"text", html_text(report_to_text(report, plain))},
                      {"style", std::string(page_style())},
                      {"data", json_in_html(data)},
                      {"script", page_script()}});
}

}  // namespace vernier
