// What OpenVINO's ONNX reader takes for something else than ONNX says. Measured with 2026.4 against ONNX Runtime
// (tests/engines/test_openvino_reader.py): reductions, softmaxes, norms, pools and activations at opsets 9 to 18.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "vernier/tensor.h"

namespace vernier {

/// The first opset at which it reads `node`, which is of `opset`; `opset` where it reads that. Exact but for Softmax of
/// opset 11 and 12, which it misreads where the axis is not the last one.
int opset_read_by_openvino(const onnx::NodeProto& node, int opset);
/// The same of every node of the default domain.
int opset_read_by_openvino(const onnx::ModelProto& model);

/// OpenVINO 2026.4 computes two quantized products of matrices in one kernel, up to so many fixed rows of data, and
/// rows and columns of each weight: larger ones were not seen to go wrong (docs/records/truth-openvino.md).
inline constexpr std::int64_t kMostRowsInOneKernel = 8;
inline constexpr std::int64_t kMostColumnsInOneKernel = 256;

/// RoiAlign that leaves out its sampling_ratio: ONNX has 0 for that, and it takes 1.
bool lacks_attribute_for_openvino(const onnx::NodeProto& node);

/// AveragePool with ceil_mode, padding and count_include_pad, whose last window may reach beyond the padding: it counts
/// other elements than ONNX. `data` is the shape of its input; unknown sizes count as such that do.
bool averages_beyond_padding(const onnx::NodeProto& node, const Shape& data);

/// The pads with which such an AveragePool gives what ONNX means where a Pad in front has its padding: with ceil_mode=0
/// and count_include_pad=0. Nullopt for others, for unknown sizes, and where ONNX Runtime would refuse such pads.
std::optional<std::vector<std::int64_t>> pads_behind_pad(const onnx::NodeProto& node, const Shape& data);

/// MaxPool and AveragePool with ceil_mode and a last window in the padding alone. ONNX drops it, OpenVINO does so only
/// in an AveragePool, and shape inference counts it. Unknown sizes count as such that have none.
bool drops_window(const onnx::NodeProto& node, const Shape& data);

/// The pads with which such a pool of ceil_mode=0 gives what ONNX means. What they add to the padding of an AveragePool
/// must not count. Nullopt for others, where averages_beyond_padding(), for unknown sizes, and where ONNX Runtime would
/// refuse such pads.
std::optional<std::vector<std::int64_t>> pads_of_dropped_window(const onnx::NodeProto& node, const Shape& data);

}  // namespace vernier
