// Our operators inside ONNX Runtime's graph, domain "vernier". They stream into the current Recorder; nothing is copied
// out, and each passes its input through in place, so that the next layer depends on it and tensors die early.
//
//   Round(X, A) -> Y         rounds X to a format's grid, behind A (src/plan/round_node.h); with a slot, counts events
//   Switch(X) -> Y           rounds as Recorder::roundings[slot] says, and passes X through where it says nothing
//   Accumulate(X, B) -> Y    what a convolution that sums in float16 makes of X and bias B (round_node.h)
//   Tf32(X) -> Y             rounds to ten bits of mantissa
//   PairSums(Y, X) -> Y      sums Y of products of codes X as a kernel gives them that saturates (round_node.h)
//   Observe(X) -> X          folds X into ranges[slot]
//   Compare(R, G) -> R, G    folds reference R and tested G into errors[slot]; the second output is optional. With a
//                            format it rounds G on the way, and counts the events of that
//   Inject(X) -> X           replaced by Recorder::injections[slot] when there is one
#pragma once

#include <onnx/onnx_pb.h>
#include <onnxruntime_c_api.h>

#include <cstdint>
#include <string>

namespace vernier {

class Runtime;

/// Attribute of a Compare that has its second output: where shapes are inferred, ONNX Runtime does not tell how many
/// outputs a node has.
inline constexpr const char* kSecondOutput = "second_output";

/// Adds the domain to the options of one session. The operators live as long as the process.
void register_operators(const Runtime& runtime, OrtSessionOptions* options);

onnx::NodeProto observe_node(const std::string& input, const std::string& output, std::int64_t slot);
/// `got_output` empty: only the reference passes through.
onnx::NodeProto compare_node(const std::string& ref, const std::string& got, const std::string& ref_output,
                             const std::string& got_output, std::int64_t slot);
/// Compares what `round` (round_node.h) would make, whose format has no scale, and counts into its slot, in one pass
/// over the tensor that it reads. Sums and counts are those of the two nodes.
onnx::NodeProto compare_rounded_node(const std::string& ref, const onnx::NodeProto& round,
                                     const std::string& ref_output, std::int64_t slot);
onnx::NodeProto inject_node(const std::string& input, const std::string& output, std::int64_t slot);

}  // namespace vernier
