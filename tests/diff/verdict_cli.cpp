// Our side of test_comparison.py. Reads one comparison after another from standard input: a line of JSON, then the
// bytes of both tensors; answers each with a line of JSON (with Python's NaN and Infinity). "record" names a file for
// the accuracy results.
#include <fmt/format.h>

#include <cstdint>
#include <exception>
#include <iostream>
#include <string>

#include "base/file.h"
#include "comparator/statistics.h"
#include "comparator/top_k.h"
#include "json/fields.h"
#include "options/compare_function.h"
#include "vernier/accuracy_record.h"
#include "vernier/comparison.h"
#include "vernier/error.h"
#include "vernier/report/comparison.h"
#include "vernier/runs.h"
#include "vernier/tensor.h"

namespace {

using namespace vernier;

const std::string kQuestion = "the question";

Tensor read_tensor(const Json& about) {
  Shape shape;
  read_json(about.at("shape"), Place(kQuestion), shape);
  Tensor tensor(static_cast<Dtype>(about.at("dtype").integer<int>()), shape);
  const auto bytes = tensor.mutable_bytes();
  std::cin.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return tensor;
}

Json stats_json(const Tensor& tensor) {
  const Summary summary = summary_of(tensor);
  const ValueStats& stats = summary.stats;
  return Json::Object{{"mean", stats.mean},     {"std", stats.standard_deviation},
                      {"median", stats.median}, {"min", stats.min},
                      {"max", stats.max},       {"min_at", stats.min_at},
                      {"max_at", stats.max_at}, {"magnitude", stats.average_magnitude},
                      {"p90", stats.p90},       {"p95", stats.p95},
                      {"p99", stats.p99},       {"bins", json_of(summary.histogram->bins)}};
}

Json figures_json(const ErrorFigures& figures) {
  Json json = Json::Object{{"max", figures.max}, {"mean", figures.mean}, {"median", figures.median}};
  if (figures.quantile) json["quantile"] = *figures.quantile;
  return json;
}

bool flag(const Json& about, const char* key, bool otherwise) {
  const Json* const given = about.find(key);
  return given == nullptr ? otherwise : given->boolean();
}

Json answer(const Json& about) {
  const Tensor got = read_tensor(about.at("got"));
  const Tensor ref = read_tensor(about.at("ref"));
  if (about.contains("stats")) return stats_json(got);
  if (about.contains("top_k")) {
    const Tensor top = top_k(got, about.at("top_k").integer<std::int64_t>(), about.at("axis").integer<std::int64_t>());
    return Json::Object{{"shape", json_of(top.shape())},
                        {"indices", Json::Array(top.int64s().begin(), top.int64s().end())}};
  }
  CompareOptions options;
  options.functions = parse_compare_function(about.at("function").text());
  const CompareFunction function = options.functions.front();
  if (about.contains("atol")) options.atol.general = about.at("atol").number();
  if (about.contains("rtol")) options.rtol.general = about.at("rtol").number();
  if (about.contains("stat")) options.error_stat.general = parse_error_stat(about.at("stat").text());
  if (about.contains("quantile")) options.error_quantile.general = about.at("quantile").number();
  if (about.contains("threshold")) options.thresholds[function].general = about.at("threshold").number();
  options.infinities_compare_equal = flag(about, "infinities_compare_equal", false);
  options.shape_check = flag(about, "shape_check", true);
  const Iteration run{{{"y", got}}, {}};
  const Iteration reference{{{"y", ref}}, {}};
  const IterationComparison comparison = compare_iterations(0, run, reference, options, /*detail=*/true);
  if (about.contains("record")) {
    AccuracyRecord record;
    record.add("low", "ref", comparison);
    replace_file(about.at("record").text(), record.to_json(options));
  }
  const FunctionResult& result = comparison.outputs[0].results[0];
  Json json = Json::Object{{"passed", result.passed}, {"compared", result.compared}, {"value", result.value}};
  if (function == CompareFunction::Simple) {
    json["absolute"] = figures_json(result.absolute_figures);
    json["relative"] = figures_json(result.relative_figures);
  }
  const ComparisonTextOptions text{.detail = true};
  json["text"] = iteration_to_text(comparison, "low", "ref", run, reference, text);
  return json;
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    Json reply;
    try {
      reply = answer(parse_json(line, kQuestion));
    } catch (const std::exception& error) {
      reply = Json::Object{{"error", error.what()}};
    }
    std::cout << json_text(reply) << std::endl;
  }
  return 0;
}
