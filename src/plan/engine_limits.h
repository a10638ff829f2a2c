// Limits of a Clip that TensorRT-RTX loses (docs/records/within-a-layer.md, "Limits that are lost"):
//
//  - Conv or ConvTranspose in float16 or bfloat16, Clip from 0 to an upper limit, and a convolution or a pool in
//    float32 behind it: both, and the Cast between, become one kernel, which has no upper limit. Pools in bfloat16 run
//    in float32 there, and a Max with 0 under a Min is such a Clip too.
//  - Of a Clip in bfloat16 with one limit the other is taken as 0.
//
// Works on the main graph.
#pragma once

#include <string>
#include <vector>

#include "model/model.h"
#include "plan/rules/qdq_graph.h"

namespace vernier {

/// Absent: the one that is not given is 0 there. Both: and the upper one is lost.
enum class LostLimit { None, Upper, Absent, Both };

/// What becomes of the limits of `node`, a Clip or a Min: `graph` is of a typed file.
LostLimit lost_limit(const QdqGraph& graph, const onnx::NodeProto& node);

/// Rewrites `typed` so that no limit is lost: a Clip whose result is read in float32 becomes a Relu and a Min, one with
/// one limit in bfloat16 a Relu, Max or Min. No value changes. Gives the names of those that would have lost one.
std::vector<std::string> spell_out_limits(Model& typed, NamePool& names);

/// Cheap: types are inferred only where there is reason to.
bool may_lose_limits(const Model& typed);

/// Takes the limits out of `typed` that the engine loses, and gives the names of those layers.
std::vector<std::string> lose_limits(Model& typed);

}  // namespace vernier
