// Two saved runs, output by output.
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
#include "vernier/tensor.h"
#include "vernier/words.h"

namespace vernier {

enum class DiffMetric { Sqnr, MaxAbs, MeanAbs, MaxRel, Cosine, Mse };

/// "sqnr", "max_abs", "mean_abs", "max_rel", "cosine", "mse".
VERNIER_API std::span<const std::string_view> words_of(DiffMetric which);
VERNIER_API const std::vector<DiffMetric>& all_diff_metrics();
/// True where larger is better: sqnr and cosine.
VERNIER_API bool larger_is_better(DiffMetric metric);

/// Errors of one output over all iterations. Pairs in which a value is not finite are counted, and left out of the
/// rest.
struct DiffRow {
  std::string name;
  Dtype dtype = Dtype::Undefined;  // of the reference
  Shape shape;                     // of the reference, as last seen
  std::int64_t values = 0;         // pairs compared, all iterations
  double max_abs = 0;              // max |ref - got|
  double mean_abs = 0;             // mean |ref - got|
  double max_rel = 0;              // max |ref - got| / |ref| where |ref| >= 1e-6 max |ref| of the tensor
  std::int64_t near_zero = 0;      // values of ref below that: counted, not divided
  double cosine = 1;               // over all iterations
  double mse = 0;
  double sqnr_db = 0;                 // 10 log10(sum ref^2 / sum (ref - got)^2); +inf when equal
  std::int64_t nonfinite = 0;         // pairs left out
  std::int64_t broken = 0;            // of those: finite in one of both, other infinities, or NaN in one
  std::int64_t broken_reference = 0;  // of those: not finite in the reference
  std::size_t worst_iteration = 0;
  bool beyond = false;  // worse than the threshold

  VERNIER_API double value(DiffMetric metric) const;
};

struct DiffReport {
  int version = 1;
  std::string command;
  std::string reference_file, reference_run, tested_file, tested_run;
  std::size_t iterations = 0;
  DiffMetric metric = DiffMetric::Sqnr;
  bool metric_chosen = true;  // not the default
  std::optional<double> threshold;
  std::vector<DiffRow> rows;              // worst first
  std::vector<std::string> not_compared;  // with the reason
  /// Every output is bad, the first ones too: not what single layers do.
  bool all_bad = false;
  std::optional<bool> passed;  // absent without a threshold
  std::vector<Note> warnings;
};

VERNIER_API std::string report_to_text(const DiffReport& report, const TextOptions& options);
VERNIER_API std::string report_to_json(const DiffReport& report);
/// One line for each output, with a heading; fields quoted as RFC 4180 says.
VERNIER_API std::string report_to_csv(const DiffReport& report);

}  // namespace vernier
