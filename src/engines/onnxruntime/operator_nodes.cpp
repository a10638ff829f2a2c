// The nodes that our operators stand in graphs as.
#include <cstdint>
#include <string>

#include "engines/onnxruntime/operators.h"
#include "model/model.h"
#include "plan/round_node.h"
#include "vernier/format.h"

namespace vernier {
namespace {

onnx::NodeProto slot_node(const char* op_type, const std::string& output, std::int64_t slot) {
  onnx::NodeProto node;
  node.set_op_type(op_type);
  node.set_domain(kDomain);
  node.set_name(std::string(op_type) + "/" + output);
  set_attribute(node, "slot", slot);
  node.add_output(output);
  return node;
}

}  // namespace

onnx::NodeProto observe_node(const std::string& input, const std::string& output, std::int64_t slot) {
  onnx::NodeProto node = slot_node("Observe", output, slot);
  node.add_input(input);
  return node;
}

onnx::NodeProto compare_node(const std::string& ref, const std::string& got, const std::string& ref_output,
                             const std::string& got_output, std::int64_t slot) {
  onnx::NodeProto node = slot_node("Compare", ref_output, slot);
  node.add_input(ref);
  node.add_input(got);
  if (!got_output.empty()) {
    node.add_output(got_output);
    set_attribute(node, kSecondOutput, std::int64_t{1});
  }
  return node;
}

onnx::NodeProto compare_rounded_node(const std::string& ref, const onnx::NodeProto& round,
                                     const std::string& ref_output, std::int64_t slot) {
  onnx::NodeProto node = compare_node(ref, round.input(0), ref_output, "", slot);
  set_attribute(node, "format", std::string(format_name(round_params(round).format)));
  set_attribute(node, "event_slot", attribute_int(round, "slot", -1));
  return node;
}

onnx::NodeProto inject_node(const std::string& input, const std::string& output, std::int64_t slot) {
  onnx::NodeProto node = slot_node("Inject", output, slot);
  node.add_input(input);
  return node;
}

}  // namespace vernier
