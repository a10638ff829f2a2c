// Part of ONNX's library as we build it: DefaultVersionConverter is a class of 1,100 lines in a header, which compiles
// here once, together with the file that ONNX compiles it in. src/model/passes/onnx_converter.cpp declares what it calls.
#include "onnx/version_converter/convert.cc"

namespace vernier::onnx_library {

using Converter = onnx::version_conversion::DefaultVersionConverter;

ONNX_API void* make_version_converter();
ONNX_API void delete_version_converter(void* converter);
ONNX_API onnx::ModelProto convert_version(const void* converter, const onnx::ModelProto& model, int from, int to);

void* make_version_converter() { return new Converter; }

void delete_version_converter(void* converter) { delete static_cast<Converter*>(converter); }

onnx::ModelProto convert_version(const void* converter, const onnx::ModelProto& model, int from, int to) {
  return static_cast<const Converter*>(converter)->convert_version(model, onnx::OpSetID(from), onnx::OpSetID(to));
}

}  // namespace vernier::onnx_library
