#include "model/tensorrt_operators.h"

#include <onnx/defs/schema.h>
#include <onnx/defs/shape_inference.h>

#include "vernier/tensor.h"

namespace vernier {
namespace {

using onnx::OpSchema;

constexpr int kVersion = 1;

/// Of float values X, codes C and scales S.
OpSchema operator_schema(const char* op_type) {
  OpSchema schema(op_type, __FILE__, __LINE__);
  schema.SetDomain(kTensorRtDomain)
      .SinceVersion(kVersion)
      .AllowUncheckedAttributes()
      .TypeConstraint("X", OpSchema::all_tensor_types_ir13(), "")
      .TypeConstraint("C", OpSchema::all_tensor_types_ir13(), "")
      .TypeConstraint("S", OpSchema::all_tensor_types_ir13(), "");
  return schema;
}

OpSchema quantizer(const char* op_type, Dtype codes, Dtype scales) {
  OpSchema schema = operator_schema(op_type);
  schema.Input(0, "x", "", "X")
      .Input(1, "scale", "", "X", OpSchema::Optional)
      .Output(0, "codes", "", "C")
      .Output(1, "scales", "", "S")
      .TypeAndShapeInferenceFunction([codes, scales](onnx::InferenceContext& context) {
        onnx::updateOutputElemType(context, 0, static_cast<int>(codes));
        onnx::updateOutputElemType(context, 1, static_cast<int>(scales));
        if (onnx::hasInputShape(context, 0)) onnx::propagateShapeFromInputToOutput(context, 0, 0);
      });
  return schema;
}

OpSchema dequantizer() {
  OpSchema schema = operator_schema(kDequantizeMxFp8);
  schema.Input(0, "codes", "", "C")
      .Input(1, "scales", "", "S")
      .Output(0, "y", "", "X")
      .TypeAndShapeInferenceFunction([](onnx::InferenceContext& context) {
        const onnx::AttributeProto* const type = context.getAttribute("output_dtype");
        onnx::updateOutputElemType(context, 0,
                                   type == nullptr ? static_cast<int>(Dtype::Float32) : static_cast<int>(type->i()));
        if (onnx::hasInputShape(context, 0)) onnx::propagateShapeFromInputToOutput(context, 0, 0);
      });
  return schema;
}

}  // namespace

bool is_tensorrt(const onnx::NodeProto& node, const char* op_type) {
  return node.domain() == kTensorRtDomain && node.op_type() == op_type;
}

void register_tensorrt_operators() {
  [[maybe_unused]] static const bool registered = [] {
    onnx::OpSchemaRegistry::DomainToVersionRange::Instance().AddDomainToVersion(kTensorRtDomain, kVersion, kVersion);
    onnx::RegisterSchema(quantizer(kQuantizeNvFp4, Dtype::Float4E2M1, Dtype::Float8E4M3FN));
    onnx::RegisterSchema(quantizer(kQuantizeMxFp8, Dtype::Float8E4M3FN, Dtype::Float8E8M0));
    onnx::RegisterSchema(dequantizer());
    return true;
  }();
}

}  // namespace vernier
