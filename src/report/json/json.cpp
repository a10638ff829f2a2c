// Reports as JSON. The lists of fields are in fields*.h; here is how each kind of value is written and read.
//   absent optional -> absent key · +inf, -inf, NaN -> "inf", "-inf", "nan" · formats and metrics by name
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <type_traits>

#include "base/text.h"
#include "json/number.h"
#include "report/json/fields.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/report/calibrate.h"
#include "vernier/report/data_diff.h"
#include "vernier/report/debug_accuracy.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/diff.h"
#include "vernier/report/kind.h"
#include "vernier/report/pipeline.h"
#include "vernier/report/verify.h"
#include "vernier/requirement.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr const char* kDiagnose = "vernier diagnose";
constexpr const char* kVerify = "vernier verify";
constexpr const char* kDiff = "vernier data diff";
constexpr const char* kReportDiff = "vernier report --diff";
constexpr const char* kDebugAccuracy = "vernier debug accuracy";
constexpr const char* kCalibrate = "vernier calibrate";
constexpr const char* kPipeline = "vernier pipeline";

template <class T>
constexpr bool kIsOptional = false;
template <class T>
constexpr bool kIsOptional<std::optional<T>> = true;

/// "min-sqnr": the option's name without its dashes.
std::string metric_key(Metric metric) { return std::string(metric_option(metric).substr(2)); }

// ---- writing

Json write(bool value) { return value; }
Json write(const std::string& value) { return value; }
Json write(Format value) { return format_name(value); }
Json write(Metric value) { return metric_key(value); }
Json write(Dtype value) { return dtype_name(value); }
Json write(ErrorRole value) { return error_role_name(value); }
Json write(std::integral auto value) { return value; }
Json write(double value) { return json_of_number(value); }

template <class T>
Json write(const std::vector<T>& values);
Json write(const std::map<std::string, std::string>& values) { return values; }

template <class T>
requires requires { Fields<T>::list; }
Json write(const T& value) {
  Json object = Json::object();
  const auto put = [&](const auto& field) {
    if (field.present != nullptr && !field.present(value)) return;
    const auto& member = value.*(field.member);
    if constexpr (kIsOptional<std::remove_cvref_t<decltype(member)>>) {
      if (member) object[field.key] = write(*member);
    } else {
      object[field.key] = write(member);
    }
  };
  std::apply([&](const auto&... fields) { (put(fields), ...); }, Fields<T>::list);
  return object;
}

template <class T>
Json write(const std::vector<T>& values) {
  Json array = Json::array();
  for (const T& value : values) array.push_back(write(value));
  return array;
}

template <class Report>
std::string document(const char* kind, const Report& report) {
  Json json = Json::object();
  json["kind"] = kind;
  json.update(write(report));
  // Names that are not UTF-8 come from damaged files; the replacement character keeps the document valid.
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

// ---- reading

/// A place in the document, for messages: "report.json: layers[3].share".
struct Place {
  std::string file;
  std::string path;

  Place at(const std::string& key) const { return {file, path.empty() ? key : path + "." + key}; }
  Place at(std::size_t index) const { return {file, fmt::format("{}[{}]", path, index)}; }
  [[noreturn]] void refuse(const std::string& why, const std::string& hint = {}) const {
    throw Error(ErrorKind::Input, fmt::format("{}: {}{}{}", file, path, path.empty() ? "" : " ", why), hint);
  }
  [[noreturn]] void refuse_type(const char* wanted, const Json& json) const {
    refuse(fmt::format("is {} {}, {} is wanted", json.is_array() || json.is_object() ? "an" : "a", json.type_name(),
                       wanted));
  }
};

void read(const Json& json, const Place& place, bool& value) {
  if (!json.is_boolean()) place.refuse_type("true or false", json);
  value = json.get<bool>();
}

void read(const Json& json, const Place& place, std::string& value) {
  if (!json.is_string()) place.refuse_type("a string", json);
  value = json.get<std::string>();
}

void read(const Json& json, const Place& place, Format& value) {
  std::string name;
  read(json, place, name);
  const std::optional<Format> format = parse_format(name);
  if (!format) place.refuse(fmt::format("is '{}', which is no format", printable(name)));
  value = *format;
}

void read(const Json& json, const Place& place, Metric& value) {
  std::string name;
  read(json, place, name);
  for (const Metric metric : all_metrics()) {
    if (metric_key(metric) == name) {
      value = metric;
      return;
    }
  }
  place.refuse(fmt::format("is '{}', which is no metric", printable(name)));
}

template <std::integral Int>
void read(const Json& json, const Place& place, Int& value) {
  if (!json.is_number_integer()) place.refuse_type("an integer", json);
  const bool fits = json.is_number_unsigned() ? std::in_range<Int>(json.get<std::uint64_t>())
                                              : std::in_range<Int>(json.get<std::int64_t>());
  if (!fits) place.refuse(fmt::format("is {}, which is out of range", json.dump()));
  value = json.get<Int>();
}

void read(const Json& json, const Place& place, double& value) {
  const std::optional<double> number = number_of_json(json);
  if (!number) place.refuse_type("a number, \"inf\", \"-inf\" or \"nan\"", json);
  value = *number;
}

void read(const Json& json, const Place& place, std::map<std::string, std::string>& values) {
  if (!json.is_object()) place.refuse_type("an object", json);
  for (const auto& [key, value] : json.items()) read(value, place.at(key), values[key]);
}

template <class T>
void read(const Json& json, const Place& place, std::vector<T>& values);

template <class T>
requires requires { Fields<T>::list; }
void read(const Json& json, const Place& place, T& value) {
  if (!json.is_object()) place.refuse_type("an object", json);
  std::vector<std::string> known;
  const auto take = [&](const auto& field) {
    known.emplace_back(field.key);
    auto& member = value.*(field.member);
    auto found = json.find(field.key);
    if (found == json.end() && field.former != nullptr) {
      known.emplace_back(field.former);
      found = json.find(field.former);
    }
    if constexpr (kIsOptional<std::remove_cvref_t<decltype(member)>>) {
      if (found != json.end()) read(*found, place.at(field.key), member.emplace());
    } else if (found != json.end()) {
      read(*found, place.at(field.key), member);
    } else if (field.present == nullptr) {
      place.at(field.key).refuse("is missing");
    }
  };
  std::apply([&](const auto&... fields) { (take(fields), ...); }, Fields<T>::list);
  for (const auto& [key, unused] : json.items()) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::vector<std::string> near = nearest_names(key, known);
    place.at(printable(key)).refuse("is unknown", near.empty() ? "" : "nearest: " + list_some(near));
  }
}

template <class T>
void read(const Json& json, const Place& place, std::vector<T>& values) {
  if (!json.is_array()) place.refuse_type("an array", json);
  values.resize(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) read(json[i], place.at(i), values[i]);
}

Json parse(const std::string& text, const Place& place) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 2: ...": what stands behind the bracket.
    const std::string what = error.what();
    const std::size_t bracket = what.find("] ");
    place.refuse("is not JSON: " + printable(bracket == std::string::npos ? what : what.substr(bracket + 2)));
  }
}

std::string kind_of(const Json& json, const Place& top) {
  if (!json.is_object()) top.refuse_type("a report", json);
  if (!json.contains("kind")) top.at("kind").refuse("is missing", "a report begins with \"kind\" and \"version\"");
  std::string kind;
  read(json["kind"], top.at("kind"), kind);
  return kind;
}

template <class Report>
Report from_document(const char* wanted, const std::string& text, const std::string& where) {
  const Place top{where, ""};
  Json json = parse(text, top);
  const std::string kind = kind_of(json, top);
  if (kind != wanted) top.at("kind").refuse(fmt::format("is '{}', '{}' is wanted", printable(kind), wanted));
  int version = 0;
  if (!json.contains("version")) top.at("version").refuse("is missing");
  read(json["version"], top.at("version"), version);
  if (version != kVersion) {
    top.at("version").refuse(fmt::format("is {}, this program reads version {}", version, kVersion),
                             "render the report with the program that wrote it, or measure again");
  }
  json.erase("kind");
  Report report;
  read(json, top, report);
  return report;
}

}  // namespace

std::string report_to_json(const DiagnoseReport& report) { return document(kDiagnose, report); }
std::string report_to_json(const VerifyReport& report) { return document(kVerify, report); }
std::string report_to_json(const DiffReport& report) { return document(kDiff, report); }
std::string report_to_json(const ReportDiff& diff) { return document(kReportDiff, diff); }
std::string report_to_json(const DebugAccuracyReport& report) { return document(kDebugAccuracy, report); }
std::string report_to_json(const CalibrateReport& report) { return document(kCalibrate, report); }
std::string report_to_json(const PipelineReport& report) { return document(kPipeline, report); }

std::string report_kind(const std::string& text, const std::string& where) {
  const Place top{where, ""};
  return kind_of(parse(text, top), top);
}

DiagnoseReport diagnose_report_from_json(const std::string& text, const std::string& where) {
  return from_document<DiagnoseReport>(kDiagnose, text, where);
}
PipelineReport pipeline_report_from_json(const std::string& text, const std::string& where) {
  return from_document<PipelineReport>(kPipeline, text, where);
}

}  // namespace vernier
