// Files that hold ranges by tensor name: TensorRT's calibration cache, ONNX Runtime's JSON, and ours. What a file holds
// is known by its content, never by its name.
//
//   TensorRT      first line TRT-<version>-<algorithm>, then "NAME: HEX" a line: the eight hex digits are the bits of
//                 the float32 step, absolute maximum / 127. A name may hold spaces and colons: the last ": " separates.
//   ONNX Runtime  {"CLS": "TensorsData", "data": {NAME: {"lowest", "highest", ...}}} of save_tensors_data, or the
//                 tensors alone, {NAME: {"lowest", "highest"}} or {NAME: [lowest, highest]} of write_calibration_table
//   ours          {"vernier_ranges": 1, "model_sha256", "method", "tensors": {NAME: {"min", "max"}}}
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "numerics/metrics.h"

namespace vernier {

using RangesByTensor = std::map<std::string, RangeStats>;

struct CachedRanges {
  std::string kind;          // "TensorRT cache (TRT-8601-EntropyCalibration2)", for people
  bool symmetric = false;    // the file holds steps for zero point 0 only: each range is [-a, a]
  std::string model_sha256;  // of the original file; empty when the file does not say
  RangesByTensor ranges;     // counts are 0: nothing was looked at
  /// TensorRT's: tensors with step 0. Its calibrator writes that for what was 0 in all samples: there is no grid for
  /// any other value.
  std::set<std::string> zero_steps;
};

/// Reads any of the three. Steps come back exactly: symmetric_params of a range read from TensorRT's text gives the
/// step that the file holds. Errors: Input, with the line or the field: no such file, an end that is not finite, a step
/// or range that no grid can have (scale_defect), a line that is cut off, one name with two ranges, ranges per channel,
/// ranges of a model that SmoothQuant changed.
CachedRanges calibration_cache_from_text(const std::string& text, const std::string& where);

/// Refuses ranges of another model: recorded for another file, or without one of the `needed` tensors. The message
/// names the first that are missing and the first names that `known`, the tensors of the model, does not have. Refuses
/// a step of 0 of a needed tensor as well. Where nothing is wrong but that some, not all, are missing, `lacking` gets
/// them instead, unless it is null.
void require_cache_of(const CachedRanges& cache, const std::string& where, const std::string& model_sha256,
                      const std::set<std::string>& needed, const std::set<std::string>& known,
                      std::set<std::string>* lacking = nullptr);

/// `learned` and the ranges that `there`, read from `where`, has of other tensors: another job wrote the file
/// meanwhile, and nothing of it may be lost. `alone`: the file can hold ranges of one model only. Errors: Input when
/// `there` has another range for a tensor, or `alone` and belongs to another file than `model_sha256`.
RangesByTensor merged_ranges(const CachedRanges& there, const std::string& where, RangesByTensor learned, bool alone,
                             const std::string& model_sha256);

/// TensorRT's text, under the header of its entropy calibrator, which is the one that its documentation shows. Holds
/// symmetric steps only. Errors: Input for a name with a line end, which the format cannot say.
std::string to_tensorrt_cache(const RangesByTensor& ranges);

/// Ours, one line a tensor.
std::string to_ranges_json(const RangesByTensor& ranges, std::string_view method, const std::string& model_file,
                           const std::string& model_sha256);

/// ONNX Runtime's, as save_tensors_data writes it, for calibration_cache_path of its quantize_static. `method` is one
/// of its own: "MinMax", "Entropy", "Percentile".
std::string to_onnxruntime_json(const RangesByTensor& ranges, std::string_view method);

}  // namespace vernier
