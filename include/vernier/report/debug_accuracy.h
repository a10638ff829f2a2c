// Where along the graph a run leaves its reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/export.h"
#include "vernier/note.h"
#include "vernier/report/text.h"
#include "vernier/words.h"

namespace vernier {

enum class ErrorRole {
  Within,    // at or above the threshold
  First,     // below it, though all that arrives is not: the error starts here
  Adds,      // below it, as what arrives is, and at least 3 dB below the worst of that
  Inherits,  // below it, and no worse than what arrives
  Harmless,  // below it, and all that is made of it, to the end, is not: a mask's values, zeros behind a Softmax
};
/// "within", "first", "adds", "inherits", "harmless".
VERNIER_API std::span<const std::string_view> words_of(ErrorRole which);

struct AccuracyRow {
  std::string layer, op_type, tensor;  // one row for each output compared, in graph order
  double sqnr_db = 0;                  // of the tensor, over all iterations
  std::optional<double> arriving_db;   // of its worst input that was compared; absent when none was
  ErrorRole role = ErrorRole::Within;
  std::int64_t not_finite = 0;  // values that are finite in the reference alone, or in the tested run alone
};

struct DebugAccuracyReport {
  int version = 1;
  std::string command, model_file, tested_run, reference_run, data;
  std::size_t iterations = 0;
  double min_sqnr_db = 0;
  std::vector<AccuracyRow> layers;        // in graph order
  std::vector<std::string> not_compared;  // with the reason
  std::vector<Note> warnings;
  bool passed = false;  // no layer is below the threshold, or only such as are harmless
};

VERNIER_API std::string report_to_text(const DebugAccuracyReport& report, const TextOptions& options);
VERNIER_API std::string report_to_json(const DebugAccuracyReport& report);

}  // namespace vernier
