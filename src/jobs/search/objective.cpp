#include "jobs/search/objective.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "comparator/known_outputs.h"
#include "options/compare_function.h"
#include "vernier/comparison.h"
#include "vernier/runs.h"

namespace vernier {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// error / tolerance, 1 at the limit.
double share(double error, double tolerance) {
  if (error <= 0) return 0;
  return tolerance > 0 ? error / tolerance : kInfinity;
}

/// The share of what is allowed, as a power: 1 at the limit, and nearly additive over layers.
double damage_of(const FunctionResult& result) {
  if (!result.compared) return kInfinity;
  if (result.function == CompareFunction::Simple) {
    const double used = std::min(share(result.required_atol, result.atol), share(result.required_rtol, result.rtol));
    return used * used;
  }
  const CompareFunctionInfo& info = compare_function_info(result.function);
  if (std::isnan(result.value)) return kInfinity;
  if (!info.higher_is_better) {
    const double used = share(result.value, result.threshold);
    return result.function == CompareFunction::Mse ? used : used * used;
  }
  // Decibels are a ratio of powers already.
  return result.function == CompareFunction::CosineSimilarity
             ? share(1 - result.value, 1 - result.threshold)
             : std::pow(10.0, (result.threshold - result.value) / 10.0);
}

/// The elements decide, and what is derived from their largest error must not say otherwise.
double damage_with_verdict(const FunctionResult& result) {
  const double damage = damage_of(result);
  if (result.passed) return std::min(damage, 1.0);
  return std::max(damage, std::nextafter(1.0, 2.0));
}

/// Digits that a limit must have so that what was measured stays within it.
std::string rounded_up(double value) {
  if (!std::isfinite(value) || value <= 0) return fmt::format("{:g}", value);
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 2);
  return fmt::format("{:.3g}", std::ceil(value / unit) * unit);
}

class ComparisonTally : public Tally {
 public:
  ComparisonTally(const SearchOptions& options, const std::vector<std::string>& outputs)
      : options_(options), outputs_(outputs) {}

  bool add(std::size_t sample, const std::vector<Tensor>& ref, const std::vector<Tensor>& got) override {
    Iteration reference = iteration_of(ref);
    Iteration tested = iteration_of(got);
    if (options_.validate) look_for_nonfinite(tested);
    NamedOutputs named;
    collect("‹postprocess›", options_.postprocess, named);
    require_outputs(named, tested, reference);
    postprocess(reference, options_.postprocess);
    postprocess(tested, options_.postprocess);
    const IterationComparison comparison =
        compare_iterations(sample, tested, reference, *options_.compare, /*detail=*/false);
    passed_ = passed_ && comparison.passed;
    for (const OutputComparison& output : comparison.outputs) {
      for (const FunctionResult& result : output.results) take(output.output, result);
    }
    return true;
  }

  Trial trial() const override {
    Trial trial;
    trial.verdict = passed_ ? Verdict::Good : Verdict::Bad;
    trial.damage = passed_ ? std::min(damage_, 1.0) : std::max(damage_, std::nextafter(1.0, 2.0));
    trial.metric = std::sqrt(trial.damage);
    trial.why = needs();
    return trial;
  }

 private:
  struct Worst {
    double atol = 0, rtol = 0;  // of simple: either would do
    double value = 0;           // of the other functions
    bool any = false;
    std::string broken;  // why no tolerance would do
  };

  Iteration iteration_of(const std::vector<Tensor>& tensors) const {
    Iteration iteration;
    for (std::size_t i = 0; i < tensors.size(); ++i) iteration.outputs.push_back({outputs_[i], tensors[i]});
    return iteration;
  }

  void look_for_nonfinite(const Iteration& iteration) {
    for (const NamedTensor& output : iteration.outputs) {
      const std::span<const float> values = output.tensor.floats();
      if (std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); })) continue;
      passed_ = false;
      damage_ = kInfinity;
      worst_[{output.name, CompareFunction::Simple}].broken = "values that are not finite";
    }
  }

  void take(const std::string& output, const FunctionResult& result) {
    damage_ = std::max(damage_, damage_with_verdict(result));
    Worst& worst = worst_[{output, result.function}];
    if (!result.compared) worst.broken = result.reason;
    if (result.function == CompareFunction::Simple) {
      worst.atol = std::max(worst.atol, result.required_atol);
      worst.rtol = std::max(worst.rtol, result.required_rtol);
      if (!result.passed && result.not_finite > 0) worst.broken = result.left_out;
    } else {
      const bool more = compare_function_info(result.function).higher_is_better;
      const bool worse = more ? result.value < worst.value : result.value > worst.value;
      if (!worst.any || worse) worst.value = result.value;
    }
    worst.any = true;
  }

  std::string needs() const {
    std::string text;
    for (const auto& [key, worst] : worst_) {
      const auto& [output, function] = key;
      if (!text.empty()) text += "; ";
      text += fmt::format("'{}': ", printable(output));
      if (!worst.broken.empty()) {
        text += worst.broken;
      } else if (function == CompareFunction::Simple) {
        text += fmt::format("‹atol› {} or ‹rtol› {}", rounded_up(worst.atol), rounded_up(worst.rtol));
      } else {
        const CompareFunctionInfo& info = compare_function_info(function);
        const double unit = std::pow(10.0, std::floor(std::log10(std::max(std::abs(worst.value), 1e-300))) - 3);
        text += fmt::format("‹{}› {}", info.option,
                            info.higher_is_better ? fmt::format("{:.4g}", std::floor(worst.value / unit) * unit)
                                                  : rounded_up(worst.value));
      }
    }
    return text;
  }

  const SearchOptions& options_;
  const std::vector<std::string>& outputs_;
  std::map<std::pair<std::string, CompareFunction>, Worst> worst_;
  double damage_ = 0;
  bool passed_ = true;
};

template <class T, class Text>
std::string setting_text(const std::string& name, const PerOutput<T>& setting, const Text& text) {
  std::string all;
  if (setting.general) all += fmt::format(" {} {}", name, text(*setting.general));
  for (const auto& [output, value] : setting.own) all += fmt::format(" {} {}:{}", name, printable(output), text(value));
  return all;
}

class ComparisonObjective : public Objective {
 public:
  explicit ComparisonObjective(const SearchOptions& options) : options_(options) {}

  DecidedBy decided_by() const override { return DecidedBy::Comparison; }

  std::string text() const override {
    return settings([](std::string_view option) { return fmt::format("‹{}›", option); });
  }

  std::string key() const override {
    return settings([](std::string_view option) { return fmt::format("--{}", option); });
  }

  bool passes_reference() const override { return !options_.validate; }

  std::unique_ptr<Tally> begin(const std::vector<std::string>& outputs) const override {
    return std::make_unique<ComparisonTally>(options_, outputs);
  }

 private:
  /// Options are named as Polygraphy's users know them, in texts and keys alike.
  template <class Named>
  std::string settings(const Named& named) const {
    const auto number = [](double value) { return fmt::format("{:g}", value); };
    const CompareOptions& compare = *options_.compare;
    std::string text;
    for (const CompareFunction function : compare.functions) {
      text += fmt::format("{}{}", text.empty() ? "" : ", ", compare_function_name(function));
      if (function != CompareFunction::Simple) {
        const auto own = compare.thresholds.find(function);
        const CompareFunctionInfo& info = compare_function_info(function);
        text += own == compare.thresholds.end() ? fmt::format(" {} {:g}", named(info.option), info.default_threshold)
                                                : setting_text(named(info.option), own->second, number);
        continue;
      }
      const std::string tolerances =
          setting_text(named("atol"), compare.atol, number) + setting_text(named("rtol"), compare.rtol, number);
      const Tolerance usual = default_tolerance(Dtype::Float32, Dtype::Float32);
      text += compare.atol.general ? "" : fmt::format(" {} {:g}", named("atol"), usual.atol);
      text += compare.rtol.general ? "" : fmt::format(" {} {:g}", named("rtol"), usual.rtol);
      text += tolerances + setting_text(named("check-error-stat"), compare.error_stat, error_stat_name);
      text += setting_text(named("error-quantile"), compare.error_quantile, number);
    }
    if (compare.infinities_compare_equal) text += " " + named("infinities-compare-equal");
    text += setting_text(named("postprocess"), options_.postprocess,
                         [](const TopK& top) { return fmt::format("top-{},axis={}", top.k, top.axis); });
    return text + (options_.validate ? " " + named("validate") : "");
  }

  const SearchOptions& options_;
};

}  // namespace

std::unique_ptr<Objective> comparison_objective(const SearchOptions& options) {
  return std::make_unique<ComparisonObjective>(options);
}

}  // namespace vernier
