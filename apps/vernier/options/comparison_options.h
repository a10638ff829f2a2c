// The options of a comparison, as users of the peer know them: which functions, which tolerances, for which output.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "options/syntax.h"
#include "vernier/accuracy_record.h"
#include "vernier/comparison.h"

namespace vernier::cli {

/// "[OUTPUT:]VALUE" lists: the last colon separates, because names may contain others.
class ComparisonGroup {
 public:
  /// All options of a comparison.
  void add(CLI::App& app);
  /// Pictures of what differs, for a command that compares once.
  void add_pictures(CLI::App& app);
  /// Those with a meaning for figures that were saved.
  void add_for_record(CLI::App& app);

  /// Errors: Usage; also for what require_valid() of the library refuses.
  CompareOptions values() const;
  AccuracyRecord::Again again() const;
  PerOutput<TopK> postprocess() const;
  /// Thresholds of functions that were not asked for, and the like, in words.
  std::vector<std::string> without_effect() const;
  /// Any of what says how outputs are compared was given.
  bool any() const;

  bool fail_fast = false;
  bool validate = false;
  bool check_average = false;
  std::string save_accuracy;                       // --save-accuracy-results; empty: not saved
  std::string compare_script, postprocess_script;  // FILE.py[:FUNC]; empty: none
  std::string heatmaps, error_plots;               // folders; empty: none
  bool show_heatmaps = false, show_error_plots = false;

 private:
  std::vector<CompareFunction> functions() const;
  std::map<CompareFunction, PerOutput<double>> thresholds() const;
  PerOutput<double> tolerance(const char* option, const std::vector<std::string>& texts) const;
  PerOutput<ErrorStat> error_stat() const;
  enum class Defaults { Stated, AsRecorded };
  void add_thresholds(CLI::App& app, Defaults defaults);

  std::vector<std::string> functions_, atol_, rtol_, error_stat_, error_quantile_, postprocess_;
  std::map<CompareFunction, std::vector<std::string>> thresholds_;
  bool infinities_compare_equal_ = false;
  bool no_shape_check_ = false;
};

/// Options of the peer's comparisons that are not taken here: hidden from the help; given, they throw Usage with the
/// reason and what to use instead.
void add_refused_comparison_options(CLI::App& app);
/// Those that need the outputs, where there are only figures.
void add_options_refused_for_record(CLI::App& app);

}  // namespace vernier::cli
