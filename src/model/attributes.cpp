#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"

namespace vernier {
namespace {

onnx::AttributeProto& fresh_attribute(onnx::NodeProto& node, const std::string& name) {
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.name() == name) {
      attribute.Clear();
      attribute.set_name(name);
      return attribute;
    }
  }
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  return attribute;
}

}  // namespace

const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

float attribute_float(const onnx::NodeProto& node, std::string_view name, float fallback) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  return attribute == nullptr ? fallback : attribute->f();
}

std::int64_t attribute_int(const onnx::NodeProto& node, std::string_view name, std::int64_t fallback) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  return attribute == nullptr ? fallback : attribute->i();
}

std::vector<std::int64_t> attribute_ints(const onnx::NodeProto& node, std::string_view name) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  if (attribute == nullptr) return {};
  return {attribute->ints().begin(), attribute->ints().end()};
}

void set_attribute(onnx::NodeProto& node, const std::string& name, std::int64_t value) {
  onnx::AttributeProto& attribute = fresh_attribute(node, name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

void set_attribute(onnx::NodeProto& node, const std::string& name, float value) {
  onnx::AttributeProto& attribute = fresh_attribute(node, name);
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(value);
}

void set_attribute(onnx::NodeProto& node, const std::string& name, const std::string& value) {
  onnx::AttributeProto& attribute = fresh_attribute(node, name);
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s(value);
}

void set_attribute(onnx::NodeProto& node, const std::string& name, const std::vector<float>& values) {
  onnx::AttributeProto& attribute = fresh_attribute(node, name);
  attribute.set_type(onnx::AttributeProto::FLOATS);
  attribute.mutable_floats()->Assign(values.begin(), values.end());
}

void set_attribute(onnx::NodeProto& node, const std::string& name, const std::vector<std::int64_t>& values) {
  onnx::AttributeProto& attribute = fresh_attribute(node, name);
  attribute.set_type(onnx::AttributeProto::INTS);
  attribute.mutable_ints()->Assign(values.begin(), values.end());
}

}  // namespace vernier
