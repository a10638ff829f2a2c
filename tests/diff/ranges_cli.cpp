// Our side of test_ranges.py. Reads one tensor after another from standard input: a line of JSON ("count", "parts": how
// many calls it is folded in by), then its float32 values; answers each with a line of JSON: the bins, and the range of
// every method for every format, or why there is none.
#include <cstddef>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "json/json.h"
#include "numerics/range_methods.h"
#include "vernier/error.h"
#include "vernier/format.h"

namespace {

using namespace vernier;

Json ranges_of(const Distribution& values) {
  Json json;
  for (const Format format : {Format::Int8, Format::UInt8, Format::Int4, Format::Float8E4M3FN}) {
    for (const char* method : {"minmax", "percentile:99.9", "percentile:99.999", "entropy", "mse", "aciq"}) {
      Json& answer = json[format_name(format)][method];
      try {
        const ValueRange range = range_by(*parse_calibration_method(method), values, format);
        answer = Json::Array{range.low, range.high, rounding_noise(values, activation_params(format, range))};
      } catch (const Error& error) {
        answer = error.what();
      }
    }
  }
  return json;
}

Json answer(const Json& about) {
  std::vector<float> values(about.at("count").integer<std::size_t>());
  std::cin.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
  const std::size_t parts = about.at("parts").integer<std::size_t>();
  ValueHistogram histogram;
  for (std::size_t part = parts; part-- > 0;) {  // backwards: the order must not matter
    const std::size_t first = values.size() * part / parts;
    const std::size_t last = values.size() * (part + 1) / parts;
    ValueHistogram one;
    one.add(std::span(values).subspan(first, last - first));
    histogram += one;
  }
  Json bins = Json::array();
  for (const Bin& bin : histogram.bins()) bins.add(Json::Array{bin.low, bin.high, bin.count});
  Distribution distribution = distribution_of(histogram);
  Json json = Json::Object{{"bins", bins}, {"nonfinite", histogram.range().nonfinite}};
  if (const auto mask = take_mask(distribution)) json["mask"] = Json::Array{mask->low, mask->high, mask->count};
  json["ends"] = Json::Array{distribution.min, distribution.max, distribution.count};
  json["ranges"] = ranges_of(distribution);
  return json;
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);)
    std::cout << json_text(answer(parse_json(line, "the question"))) << std::endl;
}
