#include "model/passes/onnx_converter.h"

#include <onnx/version_converter/convert.h>

namespace vernier::passes {

struct OnnxConverter::State {
  onnx::version_conversion::DefaultVersionConverter converter;
};

OnnxConverter::OnnxConverter() : state_(std::make_unique<State>()) {}
OnnxConverter::~OnnxConverter() = default;

onnx::ModelProto OnnxConverter::convert(const onnx::ModelProto& model, int from, int to) const {
  return state_->converter.convert_version(model, onnx::OpSetID(from), onnx::OpSetID(to));
}

}  // namespace vernier::passes
