// The job behind `vernier debug reduce`: from a model that fails a check to the smallest part of it that still does.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vernier/check.h"
#include "vernier/export.h"
#include "vernier/format.h"
#include "vernier/jobs.h"

namespace vernier {

/// The check that needs no program: the candidate in `low` against itself in float32, simulated under `target`, on the
/// values that its inputs have in the whole model. Bad when an output has less than `min_sqnr_db`.
struct SimulatedCheck {
  Format low = Format::Int8;
  std::string target = "tensorrt";
  double min_sqnr_db = 20;
};

enum class ReduceMode {
  Bisect,  // halves the list of nodes: the fewest checks
  Linear,  // goes node by node
  Ddmin,   // bisects, then drops nodes in ever smaller groups until each one is needed, then shrinks dimensions
};

struct ReduceOptions {
  std::filesystem::path model;
  std::filesystem::path output;    // the smallest bad model
  std::filesystem::path min_good;  // a good model near to it in size; empty: not written
  ReduceMode mode = ReduceMode::Bisect;
  bool reduce_outputs = true;
  bool reduce_inputs = true;
  std::map<std::string, Shape> input_shapes;  // --model-input-shapes
  ExternalDataOptions external_data;          // the file it names is the output's; candidates choose their own
  MeasureOptions measure;  // samples: values of frozen tensors, and of inputs under a simulated check
  CheckOptions check;
  std::optional<SimulatedCheck> simulated;  // instead of `check`
  std::string command;
};

struct ReduceReport {
  int version = 1;
  std::string command, model_file, output, min_good, mode, check;
  bool reproduced = false;  // the whole model is bad; else nothing was written
  bool minimal = false;     // without any one of its nodes, each tried, it is bad no more
  std::size_t nodes_before = 0, nodes_after = 0, nodes_good = 0;
  std::vector<std::string> nodes;  // "NAME (Operator)"
  std::vector<std::string> inputs, outputs, frozen;
  std::string inputs_file, outputs_file;  // the values there on `samples`, beside `output`; empty: not written
  std::size_t samples = 0;
  std::vector<std::string> shrunk;  // "input x: 1x3x416x416 -> 1x3x8x8"
  std::size_t checks = 0;           // programs run, or measurements made
  std::size_t iterations = 0, invalid = 0, timed_out = 0;
  std::optional<double> sqnr_db;  // simulated check: of the worst output of the result
  double seconds = 0;
  std::vector<std::string> warnings;
};

/// Reads, cuts and checks until nothing smaller fails, and writes what is left. A candidate that does not load is
/// invalid, never bad. Inputs that a cut makes are float tensors; others, and float tensors of branches that the
/// failure does not need, become constants with the values they have on the first sample. With a simulated check, or
/// samples given, STEM_inputs.json and STEM_outputs.json beside the output hold what the result takes and gives.
/// Errors: Usage, Input, Backend (the check cannot be started), Interrupted (what was found so far is written).
VERNIER_API ReduceReport debug_reduce(const ReduceOptions& options, const JobSinks& sinks = {},
                                      const CheckSinks& check_sinks = {});

VERNIER_API std::string report_to_text(const ReduceReport& report, const TextOptions& options);
VERNIER_API std::string report_to_json(const ReduceReport& report);

}  // namespace vernier
