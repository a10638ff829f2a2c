#include "model/passes/onnx_converter.h"

// ONNX's class is compiled inside its library alone (cmake/onnx/version_converter.cc).
namespace vernier::onnx_library {
void* make_version_converter();
void delete_version_converter(void* converter);
onnx::ModelProto convert_version(const void* converter, const onnx::ModelProto& model, int from, int to);
}  // namespace vernier::onnx_library

namespace vernier::passes {

OnnxConverter::OnnxConverter() : converter_(onnx_library::make_version_converter()) {}
OnnxConverter::~OnnxConverter() { onnx_library::delete_version_converter(converter_); }

onnx::ModelProto OnnxConverter::convert(const onnx::ModelProto& model, int from, int to) const {
  return onnx_library::convert_version(converter_, model, from, to);
}

}  // namespace vernier::passes
