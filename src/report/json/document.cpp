#include "report/json/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "base/text.h"
#include "vernier/report/kind.h"

namespace vernier {
namespace {

constexpr int kVersion = 1;

// In the order of the enum.
constexpr std::array<std::string_view, 21> kKinds{"vernier diagnose",
                                                  "vernier verify",
                                                  "vernier report --diff",
                                                  "vernier data diff",
                                                  "vernier debug accuracy",
                                                  "vernier debug loss",
                                                  "vernier debug reduce",
                                                  "vernier calibrate",
                                                  "vernier convert",
                                                  "vernier pipeline",
                                                  "vernier eval",
                                                  "vernier check data",
                                                  "vernier check placement",
                                                  "vernier inspect formats",
                                                  "vernier inspect capability",
                                                  "vernier inspect engine",
                                                  "vernier bench",
                                                  "vernier inspect model",
                                                  "vernier doctor",
                                                  "vernier bundle",
                                                  "vernier error"};

ReportKind kind_of(const Json& json, const Place& top) {
  if (!json.is_object()) top.refuse_kind(json, "a report");
  const Json* const kind = json.find("kind");
  if (kind == nullptr) top.at("kind").refuse("is missing", "a report begins with \"kind\" and \"version\"");
  ReportKind value{};
  read_json(*kind, top.at("kind"), value);
  return value;
}

}  // namespace

std::span<const std::string_view> words_of(ReportKind /*which*/) { return kKinds; }

ReportKind report_kind(const std::string& text, const std::string& where) {
  return kind_of(parse_json(text, where), Place(where));
}

Json document_of(ReportKind kind, Json report) {
  Json::Object& members = report.members();
  members.insert(members.begin(), {"kind", word_of(kind)});
  return report;
}

std::string document_text(ReportKind kind, Json report) {
  return json_text(document_of(kind, std::move(report)), kPrettyJson) + "\n";
}

Json parse_document(ReportKind wanted, const std::string& text, const std::string& where) {
  Json json = parse_json(text, where);
  const Place top(where);
  const ReportKind kind = kind_of(json, top);
  if (kind != wanted) top.at("kind").refuse(fmt::format("is '{}', '{}' is wanted", word_of(kind), word_of(wanted)));
  int version = 0;
  const Json* const written = json.find("version");
  if (written == nullptr) top.at("version").refuse("is missing");
  read_json(*written, top.at("version"), version);
  if (version != kVersion) {
    top.at("version").refuse(fmt::format("is {}, this program reads version {}", version, kVersion),
                             "render the report with the program that wrote it, or measure again");
  }
  json.erase("kind");
  return json;
}

}  // namespace vernier
