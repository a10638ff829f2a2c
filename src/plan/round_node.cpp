#include "plan/round_node.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/model.h"
#include "vernier/error.h"
#include "vernier/format.h"

namespace vernier {

namespace {

onnx::NodeProto own_node(const char* op_type, const std::string& input, const std::string& output) {
  onnx::NodeProto node;
  node.set_domain(kDomain);
  node.set_op_type(op_type);
  node.set_name(output + "_" + lower_case(op_type));
  node.add_input(input);
  node.add_output(output);
  return node;
}

}  // namespace

onnx::NodeProto round_node(const std::string& input, const std::string& output, const QuantParams& params,
                           std::int64_t slot) {
  onnx::NodeProto node = own_node("Round", input, output);
  set_attribute(node, "format", std::string(format_name(params.format)));
  // An empty list is not written: ONNX Runtime cannot tell the type of an empty attribute.
  if (!params.scale.empty()) set_attribute(node, "scale", params.scale);
  if (!params.zero_point.empty()) {
    set_attribute(node, "zero_point", std::vector<std::int64_t>(params.zero_point.begin(), params.zero_point.end()));
  }
  set_attribute(node, "axis", static_cast<std::int64_t>(params.axis));
  set_attribute(node, "block", static_cast<std::int64_t>(params.block));
  set_attribute(node, "lowest_code", static_cast<std::int64_t>(params.lowest_code));
  set_attribute(node, "dynamic", static_cast<std::int64_t>(params.dynamic));
  set_attribute(node, "slot", slot);
  return node;
}

QuantParams round_params(const onnx::NodeProto& node) {
  QuantParams params;
  const onnx::AttributeProto* name = find_attribute(node, "format");
  const std::optional<Format> format = name == nullptr ? std::nullopt : parse_format(name->s());
  if (!format) {
    throw Error(ErrorKind::Internal, fmt::format("Round node '{}' names no known format", printable(node.name())));
  }
  params.format = *format;
  if (const onnx::AttributeProto* scale = find_attribute(node, "scale")) {
    params.scale.assign(scale->floats().begin(), scale->floats().end());
  }
  for (const std::int64_t zero : attribute_ints(node, "zero_point")) {
    params.zero_point.push_back(static_cast<std::int32_t>(zero));
  }
  params.axis = static_cast<int>(attribute_int(node, "axis", -1));
  params.block = static_cast<int>(attribute_int(node, "block", 0));
  params.lowest_code = static_cast<std::int32_t>(attribute_int(node, "lowest_code", 0));
  params.dynamic = attribute_int(node, "dynamic", 0) != 0;
  return params;
}

onnx::NodeProto accumulate_node(const std::string& input, const std::string& bias, const std::string& output,
                                Format format, std::int64_t roundings, std::uint32_t seed, bool product) {
  onnx::NodeProto node = own_node("Accumulate", input, output);
  if (!bias.empty()) node.add_input(bias);
  set_attribute(node, "format", std::string(format_name(format)));
  set_attribute(node, "roundings", roundings);
  set_attribute(node, "seed", static_cast<std::int64_t>(seed));
  set_attribute(node, "product", static_cast<std::int64_t>(product));
  return node;
}

onnx::NodeProto switch_node(const std::string& input, const std::string& output, std::int64_t slot) {
  onnx::NodeProto node = own_node("Switch", input, output);
  set_attribute(node, "slot", slot);
  return node;
}

onnx::NodeProto pair_sums_node(const std::string& sums, const std::string& data, const std::string& output) {
  onnx::NodeProto node = own_node("PairSums", sums, output);
  node.add_input(data);
  return node;
}

onnx::NodeProto tf32_node(const std::string& input, const std::string& output) {
  return own_node("Tf32", input, output);
}

Model without_rounds(Model simulated) {
  for_each_graph(*simulated.proto.mutable_graph(), [](onnx::GraphProto& graph) {
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      if (node.domain() != kDomain || node.op_type() != "Round") continue;
      const std::string input = node.input(0);
      node.clear_attribute();
      node.clear_domain();
      node.set_op_type("Identity");
      node.clear_input();
      node.add_input(input);
    }
  });
  return simulated;
}

std::map<std::string, ValueType> infer_simulated_types(Model simulated) {
  return infer_types(without_rounds(std::move(simulated)));
}

}  // namespace vernier
