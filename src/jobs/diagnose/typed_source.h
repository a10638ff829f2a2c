// Models that are in low precision already: files in float16 or bfloat16, and those with Q/DQ pairs.
//
// They are diagnosed as the float32 network behind them (plan/simulate_typed.h, without_roundings): which of the layers
// that the file has in low precision would be worth raising. Nothing is quantized twice: tensors keep the scales that
// the file has for them, where the target takes such scales, and layers that the file has in float32 stay there.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "jobs/common/sources.h"
#include "numerics/round.h"
#include "plan/plan.h"
#include "vernier/note.h"
#include "vernier/precision.h"

namespace vernier {

struct TypedSource {
  bool raised = false;
  bool quantized = false;  // it stores or computes on codes: errors of these may be large, and are in the reference
  std::map<std::string, QuantParams> scales;  // of tensors of the raised network, as the file has them
  /// Of tensors that the file has in 16 bits, which have no grid of ours: uint8 with the same range.
  std::map<std::string, QuantParams> ranges;
  bool refused = false;         // engines refuse the quantized file of the network: figures of it are worth nothing
  std::set<std::string> pairs;  // activations that a quantized file of the network has pairs on; empty: there is none
  std::set<std::string> high;   // layers that the file has in float32
  std::vector<std::string> lost_limits;  // layers of the file of which TensorRT-RTX loses a limit
  std::vector<Note> notes;
};

/// Puts the float32 network behind the model of `source` in its place, where that is in low precision, and keeps the
/// layers that it has in float32 there. What has nothing to be raised stays as it is.
TypedSource raise_typed_source(const OnnxModel& source, Sources& sources, PrecisionOptions& precision);

/// What `quantized`, a file made from the network of `source`, says of that network's tensors and layers: ranges, the
/// layers that stay in float, and those that it has in low precision. A layer is found by the tensor that it makes, or
/// by its name. Errors: Input when the file is not in low precision, or shares no layer with the network.
TypedSource take_over(const OnnxModel& quantized, const OnnxModel& source, Sources& sources,
                      PrecisionOptions& precision);

/// Gives the tensors of `plan` the file's own scales: those of the format that the plan has for them, and symmetric
/// where the plan's are. Returns what is to be said, of pairs too that stand in only one of file and plan. `model`: of
/// the plan.
std::vector<Note> keep_scales(const TypedSource& source, const Model& model, Plan& plan);

}  // namespace vernier
