// What is left of a network that was cut down to what still fails.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/export.h"
#include "vernier/note.h"
#include "vernier/onnx_model.h"
#include "vernier/report/text.h"
#include "vernier/words.h"

namespace vernier {

enum class ReduceMode {
  Bisect,  // halves the list of nodes: the fewest checks
  Linear,  // goes node by node
  Ddmin,   // bisects, then drops nodes in ever smaller groups until each one is needed, then shrinks dimensions
};
/// "bisect", "linear", "ddmin".
VERNIER_API std::span<const std::string_view> words_of(ReduceMode which);

struct ReduceReport {
  int version = 1;
  std::string command, model_file, output, min_good, check;
  ReduceMode mode = ReduceMode::Bisect;
  bool reproduced = false;  // the whole model is bad; else it is good, and was written as it is, unless not_judged
  std::string not_judged;   // why the check has no verdict on the whole model, so that nothing was written
  /// Without any one of its nodes, each tried, it is bad no more; by an outside check each answer was given twice.
  bool minimal = false;
  std::size_t unjudged = 0;  // of these nodes: without them it could not be judged
  std::size_t repeated = 0;  // answers of an outside check that were asked for again
  std::string unstable;      // what was answered otherwise then; empty: nothing was
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
  std::vector<Note> warnings;
  OnnxModel model{};  // the smallest bad one: the file, or where none was asked for the model itself; empty: none
};

VERNIER_API std::string report_to_text(const ReduceReport& report, const TextOptions& options);
VERNIER_API std::string report_to_json(const ReduceReport& report);

}  // namespace vernier
