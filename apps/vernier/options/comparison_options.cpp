#include "options/comparison_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>

#include "base/refuse.h"
#include "base/text.h"
#include "options/compare_function.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier::cli {
namespace {

const char* const kComparisonGroup = "Comparison (every function must pass; thresholds as [OUTPUT:]VALUE)";

struct ThresholdHelp {
  CompareFunction function;
  const char* names;
  const char* value_name;
  const char* help;
};

// A new function is one line here, and those that options/compare_function.h names.
constexpr ThresholdHelp kThresholds[] = {
    {CompareFunction::Indices, "--index-tolerance", "[OUTPUT:]N",
     "indices: how many places an entry may be away from its place in the reference; the last N entries are not "
     "compared (default: 0)"},
    {CompareFunction::L2, "--l2-threshold,--l2-tolerance", "[OUTPUT:]E", "l2: at most E (default: 1e-5)"},
    {CompareFunction::CosineSimilarity, "--cosine-similarity-threshold", "[OUTPUT:]C",
     "cosine_similarity: at least C, -1 to 1 (default: 0.997)"},
    {CompareFunction::Psnr, "--psnr-threshold,--psnr-tolerance", "[OUTPUT:]DB", "psnr: at least DB (default: 30)"},
    {CompareFunction::Snr, "--snr-threshold,--snr-tolerance", "[OUTPUT:]DB",
     "snr: at least DB; the first run is the signal (default: 20)"},
    {CompareFunction::Mse, "--mse-threshold", "[OUTPUT:]E", "mse: at most E (default: 1e-5)"},
    {CompareFunction::Sqnr, "--sqnr-threshold", "[OUTPUT:]DB",
     "sqnr: at least DB; the reference is the signal (default: 20)"},
    {CompareFunction::Kl, "--kl-threshold", "[OUTPUT:]E", "kl: at most E nats in any row (default: 0.01)"},
    {CompareFunction::Ulp, "--ulp-threshold", "[OUTPUT:]N",
     "ulp: at most N units in the last place of the coarser type (default: 4)"},
};

/// "y:0.5" -> {"y", "0.5"}; "0.5" and ":0.5" -> {"", "0.5"}.
std::pair<std::string, std::string> split_output(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return {"", text};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

template <class T, class Parse>
PerOutput<T> per_output(std::string_view option, const std::vector<std::string>& texts, const Parse& parse) {
  PerOutput<T> setting;
  for (const std::string& text : texts) {
    const auto [output, value] = split_output(text);
    T parsed = parse(value);
    if (output.empty()) {
      if (setting.general)
        throw Error(ErrorCode::Contradiction, fmt::format("{}: two values are given for all outputs", option));
      setting.general = parsed;
    } else if (!setting.own.emplace(output, parsed).second) {
      throw Error(ErrorCode::Contradiction,
                  fmt::format("{}: two values are given for output '{}'", option, printable(output)));
    }
  }
  return setting;
}

double number_within(std::string_view option, const std::string& text, double least, double most) {
  // As NumPy spells it: any finite error passes.
  if (most == std::numeric_limits<double>::max() && text == "inf") return std::numeric_limits<double>::infinity();
  const double value = parse_number(option, text);
  if (value < least || value > most) {
    throw Error(ErrorCode::BadValue, most == std::numeric_limits<double>::max()
                                         ? fmt::format("{}: {} is below {}", option, value, least)
                                         : fmt::format("{}: {} is not in [{}, {}]", option, value, least, most));
  }
  return value;
}

/// An error of the library's own parsers, with the option it is about.
template <class Parse>
auto named(std::string_view option, const Parse& parse) {
  try {
    return parse();
  } catch (const Error& error) {
    throw placed(std::string(option), error);
  }
}

TopK parse_top_k(const std::string& text) {
  constexpr std::string_view kTop = "top-";
  constexpr std::string_view kAxis = ",axis=";
  const std::size_t comma = std::min(text.find(','), text.size());
  if (!text.starts_with(kTop) || (comma < text.size() && !text.substr(comma).starts_with(kAxis))) {
    throw Error(ErrorCode::BadValue,
                fmt::format("--postprocess: '{}' is not of the form top-K or top-K,axis=A", printable(text)),
                "for example --postprocess scores:top-5,axis=1");
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  TopK top;
  top.k =
      static_cast<std::int64_t>(parse_count("--postprocess", text.substr(kTop.size(), comma - kTop.size()), 1, kMost));
  if (comma == text.size()) return top;
  std::string axis = text.substr(comma + kAxis.size());
  const bool from_end = axis.starts_with('-');
  if (from_end) axis.erase(0, 1);
  top.axis = static_cast<std::int64_t>(parse_count("--postprocess", axis, 0, 64));
  if (from_end) top.axis = -top.axis;
  return top;
}

}  // namespace

void ComparisonGroup::add_thresholds(CLI::App& app, Defaults defaults) {
  const auto add_setting = [&](const char* names, std::vector<std::string>& texts, const char* value_name,
                               std::string help) {
    if (defaults == Defaults::AsRecorded) help = help.substr(0, help.find(" (default:")) + " (default: as recorded)";
    add_values(app, names, texts, value_name, help).group(kComparisonGroup);
  };
  add_setting("--compare,--compare-func", functions_, "FUNCTION",
              "simple indices l2 cosine_similarity psnr snr mse sqnr kl ulp; distance_metrics is l2 and "
              "cosine_similarity, quality_metrics psnr and snr (default: simple)");
  add_setting("--atol,--abs-tol", atol_, "[OUTPUT:]E",
              "simple: absolute tolerance (default: by the coarser element type: 1e-7 float64, 1e-5 other floats, 0 "
              "integers)");
  add_setting("--rtol,--rel-tol", rtol_, "[OUTPUT:]E",
              "simple: relative tolerance; meeting one of the two is enough (default: by the coarser element type: "
              "1e-7 float64, 1e-5 float32, 1e-3 float16, 0.016 bfloat16, 0 integers)");
  add_setting("--check-error-stat", error_stat_, "[OUTPUT:]STAT",
              "simple: elemwise max mean median quantile (default: elemwise)");
  for (const ThresholdHelp& row : kThresholds) {
    add_setting(row.names, thresholds_[row.function], row.value_name, row.help);
  }
  // In older guides it asks for the comparison, which is done anyway.
  add_flag(app, "--compare-outputs", [] {}).group("");
  add_flag(app, "--check-average", check_average,
           "Check the mean of each figure over all iterations (default: every iteration)")
      .group(kComparisonGroup);
  add_value(app, "--save-accuracy-results", save_accuracy, "FILE",
            "Save verdicts and figures as JSON that vernier check accuracy reads (default: not saved)")
      .writes()
      .group(kComparisonGroup);
}

void ComparisonGroup::add(CLI::App& app) {
  add_thresholds(app, Defaults::Stated);
  add_values(app, "--error-quantile", error_quantile_, "[OUTPUT:]Q",
             "simple with quantile: the quantile, 0 to 1 (default: 0.99)")
      .group(kComparisonGroup);
  add_flag(app, "--infinities-compare-equal", infinities_compare_equal_,
           "simple: infinities of the same sign differ by 0 (default: they fail)")
      .group(kComparisonGroup);
  add_flag(app, "--no-shape-check", no_shape_check_,
           "Permute or reshape the reference if shapes differ (default: fail)")
      .group(kComparisonGroup);
  add_flag(
      app, "--validate", validate,
      "Also fail on NaN and infinities in any output, and warn of simulated layers that overflow (default: only in "
      "compared outputs)")
      .group(kComparisonGroup);
  add_flag(app, "--fail-fast", fail_fast, "Stop at the first output that fails (default: compare all)")
      .group(kComparisonGroup);
  add_values(app, "--postprocess,--postprocess-func", postprocess_, "[OUTPUT:]top-K[,axis=A]",
             "Compare the indices of the K largest elements along an axis, by default the last one (default: compare "
             "the outputs)")
      .group(kComparisonGroup);
  add_value(app, "--postprocess-func-script", postprocess_script, "FILE.py[:FUNC]",
            "Compare the results of postprocess_outputs(outputs), called with each run's dict of numpy arrays "
            "(default: none)")
      .group(kComparisonGroup);
  add_value(
      app, "--compare-func-script", compare_script, "FILE.py[:FUNC]",
      "Instead of --compare, call compare_outputs(outputs, reference), which returns {output: verdict} (default: none)")
      .group(kComparisonGroup);
  add_refused_comparison_options(app);
}

void ComparisonGroup::add_pictures(CLI::App& app) {
  const char* const group = "Pictures";
  add_value(app, "--save-heatmaps", heatmaps, "DIR",
            "Write |error| by position as SVG, a file for each output, pair of runs and iteration (default: none)")
      .writes()
      .group(group);
  add_value(app, "--save-error-metrics-plot", error_plots, "DIR",
            "Write |error| by |reference| as SVG, in the same way (default: none)")
      .writes()
      .group(group);
  add_flag(app, "--show-heatmaps", show_heatmaps, "Print |error| by position as text").group(group);
  add_flag(app, "--show-error-metrics-plot", show_error_plots, "Print |error| by |reference| as text").group(group);
}

void ComparisonGroup::add_for_record(CLI::App& app) {
  add_thresholds(app, Defaults::AsRecorded);
  add_refused_comparison_options(app);
  add_options_refused_for_record(app);
}

std::vector<CompareFunction> ComparisonGroup::functions() const {
  std::vector<CompareFunction> functions;
  for (const std::string& text : functions_) {
    for (const CompareFunction function : named("--compare", [&] { return parse_compare_function(text); })) {
      if (std::find(functions.begin(), functions.end(), function) == functions.end()) functions.push_back(function);
    }
  }
  return functions;
}

PerOutput<double> ComparisonGroup::tolerance(const char* option, const std::vector<std::string>& texts) const {
  return per_output<double>(option, texts, [option](const std::string& value) {
    return number_within(option, value, 0, std::numeric_limits<double>::max());
  });
}

PerOutput<ErrorStat> ComparisonGroup::error_stat() const {
  const char* const option = "--check-error-stat";
  return per_output<ErrorStat>(option, error_stat_, [option](const std::string& value) {
    return named(option, [&] { return parse_error_stat(value); });
  });
}

std::map<CompareFunction, PerOutput<double>> ComparisonGroup::thresholds() const {
  std::map<CompareFunction, PerOutput<double>> thresholds;
  for (const auto& [function, texts] : thresholds_) {
    if (texts.empty()) continue;
    const CompareFunctionInfo& info = compare_function_info(function);
    const std::string option = fmt::format("--{}", info.option);
    thresholds[function] = per_output<double>(option, texts, [&](const std::string& value) {
      if (info.function == CompareFunction::Indices) {
        return static_cast<double>(parse_count(option, value, 0, std::numeric_limits<std::uint32_t>::max()));
      }
      return number_within(option, value, info.least, info.most);
    });
  }
  return thresholds;
}

CompareOptions ComparisonGroup::values() const {
  CompareOptions options;
  if (!functions_.empty()) options.functions = functions();
  options.atol = tolerance("--atol", atol_);
  options.rtol = tolerance("--rtol", rtol_);
  options.error_stat = error_stat();
  options.error_quantile = per_output<double>("--error-quantile", error_quantile_, [](const std::string& value) {
    return number_within("--error-quantile", value, 0, 1);
  });
  options.infinities_compare_equal = infinities_compare_equal_;
  options.shape_check = !no_shape_check_;
  options.thresholds = thresholds();
  options.check_average = check_average;
  if (check_average && fail_fast) {
    throw Error(ErrorCode::Contradiction, "--check-average needs all iterations, but --fail-fast stops early",
                "leave out one of them");
  }
  if (check_average && !compare_script.empty()) {
    throw Error(ErrorCode::Contradiction, "--check-average needs figures, but a script returns verdicts",
                "leave out one of them");
  }
  require_valid(options);
  return options;
}

AccuracyRecord::Again ComparisonGroup::again() const {
  AccuracyRecord::Again again;
  again.functions = functions();
  again.atol = tolerance("--atol", atol_);
  again.rtol = tolerance("--rtol", rtol_);
  again.error_stat = error_stat();
  again.thresholds = thresholds();
  return again;
}

PerOutput<TopK> ComparisonGroup::postprocess() const {
  return per_output<TopK>("--postprocess", postprocess_, parse_top_k);
}

bool ComparisonGroup::any() const {
  const auto given = [](const auto& entry) { return !entry.second.empty(); };
  return !functions_.empty() || !atol_.empty() || !rtol_.empty() || !error_stat_.empty() || !error_quantile_.empty() ||
         !postprocess_.empty() || infinities_compare_equal_ || no_shape_check_ || validate ||
         std::any_of(thresholds_.begin(), thresholds_.end(), given);
}

std::vector<std::string> ComparisonGroup::without_effect() const {
  const CompareOptions options = values();
  const auto asked_for = [&](CompareFunction function) {
    return std::find(options.functions.begin(), options.functions.end(), function) != options.functions.end();
  };
  std::vector<std::string> texts;
  if (!compare_script.empty()) {
    const bool asked = !functions_.empty() || !options.thresholds.empty() || !atol_.empty() || !rtol_.empty() ||
                       !error_stat_.empty() || !error_quantile_.empty() || infinities_compare_equal_ || no_shape_check_;
    if (asked) texts.emplace_back("--compare and its thresholds have no effect with --compare-func-script");
    return texts;
  }
  const auto note = [&](std::string_view option, CompareFunction function) {
    texts.push_back(fmt::format("{} has no effect: {} is not among the functions of --compare", option,
                                compare_function_name(function)));
  };
  for (const auto& entry : options.thresholds) {
    if (asked_for(entry.first)) continue;
    note(fmt::format("--{}", compare_function_info(entry.first).option), entry.first);
  }
  if (!asked_for(CompareFunction::Simple)) {
    if (!atol_.empty()) note("--atol", CompareFunction::Simple);
    if (!rtol_.empty()) note("--rtol", CompareFunction::Simple);
    if (!error_stat_.empty()) note("--check-error-stat", CompareFunction::Simple);
    if (!error_quantile_.empty()) note("--error-quantile", CompareFunction::Simple);
    if (infinities_compare_equal_) note("--infinities-compare-equal", CompareFunction::Simple);
  }
  return texts;
}

}  // namespace vernier::cli
