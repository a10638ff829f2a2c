// Our side of test_comparison.py. Reads one comparison after another from standard input: a line of JSON, then the
// bytes of both tensors; answers each with a line of JSON (with Python's NaN and Infinity). "record" names a file for
// the accuracy results.
#include <fmt/format.h>

#include <cmath>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/file.h"
#include "comparator/statistics.h"
#include "comparator/top_k.h"
#include "options/compare_function.h"
#include "vernier/accuracy_record.h"
#include "vernier/comparison.h"
#include "vernier/error.h"
#include "vernier/report/comparison.h"
#include "vernier/runs.h"
#include "vernier/tensor.h"

namespace {

using namespace vernier;
using Json = nlohmann::ordered_json;

Tensor read_tensor(const Json& about) {
  Tensor tensor(static_cast<Dtype>(about["dtype"].get<int>()), about["shape"].get<Shape>());
  const auto bytes = tensor.mutable_bytes();
  std::cin.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return tensor;
}

/// JSON has no words for these; the test turns the strings back.
Json number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json stats_json(const Tensor& tensor) {
  const Summary summary = summary_of(tensor);
  const ValueStats& stats = summary.stats;
  return Json{{"mean", number(stats.mean)},     {"std", number(stats.standard_deviation)},
              {"median", number(stats.median)}, {"min", number(stats.min)},
              {"max", number(stats.max)},       {"min_at", stats.min_at},
              {"max_at", stats.max_at},         {"magnitude", number(stats.average_magnitude)},
              {"p90", number(stats.p90)},       {"p95", number(stats.p95)},
              {"p99", number(stats.p99)},       {"bins", summary.histogram->bins}};
}

Json figures_json(const ErrorFigures& figures) {
  Json json{{"max", number(figures.max)}, {"mean", number(figures.mean)}, {"median", number(figures.median)}};
  if (figures.quantile) json["quantile"] = number(*figures.quantile);
  return json;
}

Json answer(const Json& about) {
  const Tensor got = read_tensor(about["got"]);
  const Tensor ref = read_tensor(about["ref"]);
  if (about.contains("stats")) return stats_json(got);
  if (about.contains("top_k")) {
    const Tensor top = top_k(got, about["top_k"].get<std::int64_t>(), about["axis"].get<std::int64_t>());
    return Json{{"shape", top.shape()},
                {"indices", std::vector<std::int64_t>(top.int64s().begin(), top.int64s().end())}};
  }
  CompareOptions options;
  options.functions = parse_compare_function(about["function"].get<std::string>());
  const CompareFunction function = options.functions.front();
  if (about.contains("atol")) options.atol.general = about["atol"].get<double>();
  if (about.contains("rtol")) options.rtol.general = about["rtol"].get<double>();
  if (about.contains("stat")) options.error_stat.general = parse_error_stat(about["stat"].get<std::string>());
  if (about.contains("quantile")) options.error_quantile.general = about["quantile"].get<double>();
  if (about.contains("threshold")) options.thresholds[function].general = about["threshold"].get<double>();
  options.infinities_compare_equal = about.value("infinities_compare_equal", false);
  options.shape_check = about.value("shape_check", true);
  const Iteration run{{{"y", got}}, {}};
  const Iteration reference{{{"y", ref}}, {}};
  const IterationComparison comparison = compare_iterations(0, run, reference, options, /*detail=*/true);
  if (about.contains("record")) {
    AccuracyRecord record;
    record.add("low", "ref", comparison);
    replace_file(about["record"].get<std::string>(), record.to_json(options));
  }
  const FunctionResult& result = comparison.outputs[0].results[0];
  Json json{{"passed", result.passed}, {"compared", result.compared}, {"value", number(result.value)}};
  if (function == CompareFunction::Simple) {
    json["absolute"] = figures_json(result.absolute_figures);
    json["relative"] = figures_json(result.relative_figures);
  }
  const ComparisonTextOptions text{false, true, 100};
  json["text"] = iteration_to_text(comparison, "low", "ref", run, reference, text);
  return json;
}

}  // namespace

int main() {
  std::string line;
  while (std::getline(std::cin, line)) {
    Json reply;
    try {
      reply = answer(Json::parse(line));
    } catch (const std::exception& error) {
      reply = Json{{"error", error.what()}};
    }
    std::cout << reply.dump() << std::endl;
  }
  return 0;
}
