// What OpenVINO's ONNX reader takes for something else than ONNX says. Measured with 2026.4 against ONNX Runtime
// (tests/engines/test_openvino_reader.py): reductions, softmaxes, norms, pools and activations at opsets 9 to 18.
#pragma once

#include <onnx/onnx_pb.h>

namespace vernier {

/// The first opset at which it reads `node`, which is of `opset`; `opset` where it reads that. Exact but for Softmax of
/// opset 11 and 12, which it misreads where the axis is not the last one.
int opset_read_by_openvino(const onnx::NodeProto& node, int opset);
/// The same of every node of the default domain.
int opset_read_by_openvino(const onnx::ModelProto& model);

/// RoiAlign that leaves out its sampling_ratio: ONNX has 0 for that, and it takes 1.
bool lacks_attribute_for_openvino(const onnx::NodeProto& node);

}  // namespace vernier
