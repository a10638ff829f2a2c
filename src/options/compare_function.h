// What is known of each comparison function without computing it: its names, its unit, its threshold. A new function is
// one line in compare_function.cpp and one, its code, in src/comparator/functions.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "vernier/comparison.h"

namespace vernier {

struct CompareFunctionInfo {
  CompareFunction function;
  std::string_view name;   // on the command line
  std::string_view label;  // in texts
  std::string_view unit;   // with its space: " dB"
  bool higher_is_better;
  double default_threshold;
  double least, most;           // of a threshold
  std::string_view option;      // "l2-threshold", the argument for its threshold
  std::string_view peer_key;    // of its figure in the peer's files; empty: the peer has no such function
  std::string_view peer_class;  // "L2" of L2Result and L2Threshold
};

/// All functions but simple, whose tolerances are a matter of their own, and scripts, in the order of the enum.
std::span<const CompareFunctionInfo> compare_function_infos();
/// Errors: Internal for simple.
const CompareFunctionInfo& compare_function_info(CompareFunction function);

/// One of the names that parse_compare_function() takes.
bool is_compare_function(const std::string& text);

/// Holds the figures of `result` against its thresholds, sets `passed` and, when it did not, `reason`. Results without
/// figures, and elemwise, keep the verdict they have.
void judge(FunctionResult& result);

/// The checked statistic of the errors, as it is held against the tolerances. Errors: Internal for elemwise.
double checked_figure(const ErrorFigures& figures, ErrorStat stat);

}  // namespace vernier
