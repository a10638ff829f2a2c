// What is in a file of saved data, as JSON.
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>

#include "json/fields.h"
#include "vernier/report/data_files.h"

namespace vernier {

namespace {

constexpr std::array<std::string_view, 3> kFileKinds{"results", "inputs", "arrays"};

}  // namespace

template <>
struct Fields<InspectedArray> {
  using R = InspectedArray;
  static constexpr auto infinite = [](const R& array) {
    return array.stats.positive_infinite + array.stats.negative_infinite;
  };
  static constexpr auto list =
      std::tuple{Field{"name", &R::name},
                 Field{"dtype", &R::dtype},
                 Field{"shape", &R::shape},
                 Derived{"values", [](const R& array) { return array.stats.count; }},
                 Derived{"nan", [](const R& array) { return array.stats.nan; }},
                 Derived{"infinite", infinite},
                 Derived{"min", [](const R& array) { return array.stats.min; }},
                 Derived{"max", [](const R& array) { return array.stats.max; }},
                 Derived{"mean", [](const R& array) { return array.stats.mean; }},
                 Derived{"standard_deviation", [](const R& array) { return array.stats.standard_deviation; }},
                 Derived{"median", [](const R& array) { return array.stats.median; }}};
};

template <>
struct Fields<InspectedRun> {
  using R = InspectedRun;
  static constexpr auto list =
      std::tuple{Field{"name", &R::name}, Field{"iterations", &R::iterations}, Field{"shown", &R::shown}};
};

template <>
struct Fields<DataInspection> {
  using R = DataInspection;
  static constexpr auto list =
      std::tuple{Derived{"version", [](const R&) { return 1; }}, Field{"file", &R::file},
                 Derived{"kind", [](const R& report) { return kFileKinds.at(static_cast<std::size_t>(report.kind)); }},
                 Field{"runs", &R::runs}};
};

std::string report_to_json(const DataInspection& report) { return json_text(json_of(report), kPrettyJson) + "\n"; }

}  // namespace vernier
