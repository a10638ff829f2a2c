// The documents of accuracy results: the peer's, with one key of ours that it does not read.
//
//   {"lst": [{"lst": [[[run, reference], [{output: entry, ...}, ...]], ...], "aggregation", ...}, ...], "vernier": ...}
//
// An entry is what the peer knows of a result, or a bare verdict. Statistics that were not asked for, and verdicts that
// the peer finds by itself, are null in it, and not absent as elsewhere: its reader wants them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "json/fields.h"

namespace vernier::accuracy_json {

inline constexpr const char* kClass = "polygraphy_class";
inline constexpr const char* kOurs = "vernier";
inline constexpr int kVersion = 1;

struct Thresholds {
  std::string check_error_stat;
  double atol = 0, rtol = 0;
  std::string polygraphy_class = "SimpleThreshold";
};

/// Of `simple`.
struct SimpleEntry {
  double max_absolute = 0, max_relative = 0, mean_absolute = 0, mean_relative = 0;
  double median_absolute = 0, median_relative = 0;
  std::optional<double> quantile_absolute, quantile_relative;
  Thresholds thresholds;
  std::optional<bool> passed;  // elemwise alone
  std::string polygraphy_class = "OutputCompareResult";
};

/// Of the functions with one figure, whose key is the function's.
struct FigureThreshold {
  double threshold = 0;
  std::string polygraphy_class;
};

/// What the peer has no place for.
struct OurEntry {
  bool passed = false;
  bool compared = true;
  std::optional<double> value, threshold;
  std::optional<std::int64_t> not_finite;
  std::optional<std::string> left_out, reason;
};

struct OurResults {
  int version = kVersion;
  std::vector<std::string> functions;
  Json results;  // [function][pair of runs][iteration]{output: OurEntry}
};

}  // namespace vernier::accuracy_json

namespace vernier {

template <>
struct Fields<accuracy_json::Thresholds> {
  using R = accuracy_json::Thresholds;
  static constexpr bool open = true;
  static constexpr auto list = std::tuple{Field{"check_error_stat", &R::check_error_stat}, Field{"atol", &R::atol},
                                          Field{"rtol", &R::rtol}, Field{accuracy_json::kClass, &R::polygraphy_class}};
};

template <>
struct Fields<accuracy_json::SimpleEntry> {
  using R = accuracy_json::SimpleEntry;
  static constexpr bool open = true;
  static constexpr auto list = std::tuple{Field{"max_absdiff", &R::max_absolute},
                                          Field{"max_reldiff", &R::max_relative},
                                          Field{"mean_absdiff", &R::mean_absolute},
                                          Field{"mean_reldiff", &R::mean_relative},
                                          Field{"median_absdiff", &R::median_absolute},
                                          Field{"median_reldiff", &R::median_relative},
                                          Nullable{"quantile_absdiff", &R::quantile_absolute},
                                          Nullable{"quantile_reldiff", &R::quantile_relative},
                                          Field{"thresholds", &R::thresholds},
                                          Nullable{"passed", &R::passed},
                                          Field{accuracy_json::kClass, &R::polygraphy_class}};
};

template <>
struct Fields<accuracy_json::FigureThreshold> {
  using R = accuracy_json::FigureThreshold;
  static constexpr bool open = true;
  static constexpr auto list =
      std::tuple{Field{"threshold", &R::threshold}, Field{accuracy_json::kClass, &R::polygraphy_class}};
};

template <>
struct Fields<accuracy_json::OurEntry> {
  using R = accuracy_json::OurEntry;
  static constexpr auto list = std::tuple{Field{"passed", &R::passed},         Field{"compared", &R::compared},
                                          Field{"value", &R::value},           Field{"threshold", &R::threshold},
                                          Field{"not_finite", &R::not_finite}, Prose{"left_out", &R::left_out},
                                          Prose{"reason", &R::reason}};
};

template <>
struct Fields<accuracy_json::OurResults> {
  using R = accuracy_json::OurResults;
  static constexpr auto list =
      std::tuple{Field{"version", &R::version}, Field{"functions", &R::functions}, Field{"results", &R::results}};
};

}  // namespace vernier
