// How a set of layers to keep is searched: what `vernier debug precision` and `vernier diagnose` share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/check.h"
#include "vernier/comparison.h"
#include "vernier/format.h"
#include "vernier/labels.h"
#include "vernier/samples.h"
#include "vernier/words.h"

namespace vernier {

enum class SearchMode {
  Minimal,     // rank, guess, trim, certify: no kept layer can be dropped
  Bisect,      // the first (or last) N layers, N by halving
  Linear,      // the same, N counted up
  WorstFirst,  // the layers whose error rises most over their inputs', `step` more at a time
};
/// "minimal", "bisect", "linear", "worst-first".
VERNIER_API std::span<const std::string_view> words_of(SearchMode which);

/// Of Bisect and Linear: the first N layers, or the last.
enum class SearchDirection { Forward, Reverse };
/// "forward", "reverse".
VERNIER_API std::span<const std::string_view> words_of(SearchDirection which);

/// What keeping a layer costs; the borders of what is kept count too, everywhere.
///   layers  1 a layer; among sets of as many layers the one with fewer conversions
///   macs    multiply-accumulates of one sample; a converted element counts as one
///   bytes   of weights, beyond what they take in the low format, and of the tensors that are converted (4 an element)
///   time    microseconds on the engine that has to agree, else on ONNX Runtime's own kernels (INT8 only), beyond those
///           in the low format
enum class CostUnit { Layers, Macs, Bytes, Time };
/// "layers", "macs", "bytes", "time".
VERNIER_API std::span<const std::string_view> words_of(CostUnit which);

/// How many samples a classifier gets right, by labels of the user's.
struct LabelRequirement {
  Labels labels;            // .npy of whole numbers, text with one a line, or numbers in memory
  std::int64_t offset = 0;  // added to each: 1 where a network has a background class that the labels have not
  std::size_t top = 1;      // right: the label is among the `top` largest
  double min_share = 0;     // of the samples, 0 to 1
  /// How sure the share of new samples has to be (Wilson's interval, one-sided); 0.5: the share itself decides. Errors
  /// of jobs: Usage, below 0.5, of 1 and more, or with fewer samples than that takes if all of them are right.
  double confidence = 0.5;
};

/// A number that a Python function of the user's computes of all outputs.
struct MetricScript {
  std::string script;  // file.py[:function], function `metric`
  std::optional<double> min, max;
};

/// The same of the caller's.
struct MetricFunction {
  /// The judged outputs of the samples of one trial, in their order, by name; those of the reference are empty where
  /// there is none. A trial that decides has all samples; one that only says what to try next may have a few. Called on
  /// the job's own threads, one call at a time. NaN: bad.
  std::function<double(const std::vector<Sample>& outputs, const std::vector<Sample>& references)> function;
  std::string name = "a function";  // in reports
  std::optional<double> min, max;
};

/// What decides by the task itself; at most one of them.
struct TaskRequirement {
  std::optional<LabelRequirement> labels;
  std::optional<MetricScript> metric;
  std::optional<MetricFunction> function;

  bool empty() const { return !labels && !metric && !function; }
};

struct SearchOptions {
  SearchMode mode = SearchMode::Minimal;
  SearchDirection direction = SearchDirection::Forward;
  std::size_t step = 5;              // WorstFirst: layers added at a time
  CostUnit cost = CostUnit::Layers;  // Minimal
  /// Minimal: formats among which each layer may take any that it supports, lowest first, in the place of
  /// PrecisionOptions::low and high. Costs are then weighted with the bits that a layer reads. Empty: two formats.
  std::vector<Format> ladder;
  /// Below 1, above 0.5: a trial may fail as soon as that is this certain (of SQNR, mean squared error and top-1
  /// agreement; samples must be independent). What passes was run on all samples.
  double confidence = 1;
  /// Layers that share a quantizer, meet in an Add or in a Concat are kept or lowered together.
  bool whole_groups = false;
  bool prove_minimum = false;       // Minimal: a lower bound on the cost of any set that passes
  std::size_t max_evaluations = 0;  // runs over the samples; 0: no limit
  double max_seconds = 0;           // of searching; 0: no limit
  /// Each trial as one line of JSON. With `resume` what it holds is not run again.
  std::filesystem::path journal;
  /// Without `journal`: a folder for one that is named after the model and the search; empty: none is kept. Where it
  /// cannot be made there is a warning and no journal.
  std::filesystem::path journal_folder;
  bool resume = false;
  /// Outputs of a trusted run, one iteration a sample, in the place of the float model's; empty: those.
  std::filesystem::path golden;
  /// What decides without a requirement: outputs against the reference, sample by sample. Absent: nothing is searched
  /// without a requirement.
  std::optional<CompareOptions> compare;
  PerOutput<TopK> postprocess;  // of both sides, before they are compared
  TaskRequirement task;
  bool validate = false;  // a value that is not finite fails
  /// An outside program decides, of a typed model in a file; samples then only rank the layers.
  std::optional<CheckOptions> check;
  CheckSinks check_sinks;
  bool minimal_too = true;  // other modes: what Minimal would keep instead
  bool pareto = false;      // the curve of accuracy against cost, from the trials made and a few more
};

}  // namespace vernier
