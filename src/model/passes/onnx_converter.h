// ONNX's own version converter behind a small door: its header defines every adapter inline, and no other file shall
// compile it again.
#pragma once

#include <onnx/onnx_pb.h>

namespace vernier::passes {

class OnnxConverter {
 public:
  OnnxConverter();
  ~OnnxConverter();
  OnnxConverter(const OnnxConverter&) = delete;
  OnnxConverter& operator=(const OnnxConverter&) = delete;

  /// `model` at opset `from`, rewritten for opset `to`. Throws std::exception with ONNX's text.
  onnx::ModelProto convert(const onnx::ModelProto& model, int from, int to) const;

 private:
  void* converter_;
};

}  // namespace vernier::passes
