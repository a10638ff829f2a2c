// What calibrate() learned: ranges of tensors, and whether the samples were enough.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vernier/export.h"
#include "vernier/format.h"
#include "vernier/note.h"
#include "vernier/report/text.h"

namespace vernier {

/// What was left out of a range as values of a mask.
struct MaskReport {
  double low = 0, high = 0;
  std::int64_t count = 0;
};

struct RangeRow {
  std::string tensor;
  Format format = Format::Int8;
  std::string method;                 // that chose the range
  bool quantized = true;              // false: not by this scheme, only written to a cache for engines that ask
  double min = 0, max = 0;            // the range
  double seen_min = 0, seen_max = 0;  // of all finite values
  std::int64_t count = 0, nonfinite = 0;
  std::optional<MaskReport> mask;
  std::optional<double> clipped;  // share of the finite values beyond the range
  /// Ranges of two halves of the samples, the larger width over the smaller, less 1.
  std::optional<double> halves_differ;
  /// Share of one half's values beyond the range that the other half gives, beyond what that half clips of its own: the
  /// larger of both ways.
  std::optional<double> uncovered;
  /// By how much the last fifth of the samples widened the smallest and largest value, as a share of that width.
  std::optional<double> growth;
};

/// Limits of what Sufficiency counts.
inline constexpr double kHalvesDiffer = 0.10;
inline constexpr double kStillGrows = 0.01;
inline constexpr double kUncovered = 0.001;

/// Whether the samples were enough, over the quantized tensors.
struct Sufficiency {
  std::size_t tensors = 0;
  std::size_t differ = 0;     // ranges of two halves differ by more than 10 %
  std::size_t grow = 0;       // the last fifth widened them by more than 1 %
  std::size_t uncovered = 0;  // over 0.1 % of one half's values lie beyond the other's range
  bool enough = false;        // none of these
  std::string text;           // all that, and what to do, in words
};

struct CalibrateReport {
  int version = 1;
  std::string command, vernier_version, onnxruntime_version;
  bool on_gpu = false;  // the networks ran on a GPU, which onnxruntime_version names
  std::string model_file, model_sha256, data, data_sha256, scheme, method, answer;
  std::size_t samples = 0;
  std::string ranges_from;                   // a cache that was read instead of samples
  std::vector<RangeRow> tensors;             // quantized ones in the order of the graph's names, then the others
  std::optional<Sufficiency> sufficiency;    // absent when ranges came from a cache
  std::map<std::string, std::string> files;  // "ranges", "cache"
  std::vector<Note> warnings, notes;
  double seconds = 0;
};

VERNIER_API std::string report_to_text(const CalibrateReport& report, const TextOptions& options);
VERNIER_API std::string report_to_json(const CalibrateReport& report);

}  // namespace vernier
