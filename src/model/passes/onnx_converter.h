// ONNX's own version converter behind a small door: its header defines every adapter inline and takes minutes to
// compile with optimization, so one file includes it, and is built without.
#pragma once

#include <onnx/onnx_pb.h>

#include <memory>

namespace vernier::passes {

class OnnxConverter {
 public:
  OnnxConverter();
  ~OnnxConverter();
  /// `model` at opset `from`, rewritten for opset `to`. Throws std::exception with ONNX's text.
  onnx::ModelProto convert(const onnx::ModelProto& model, int from, int to) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vernier::passes
