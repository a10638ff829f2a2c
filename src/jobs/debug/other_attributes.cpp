#include "jobs/debug/other_attributes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnx/defs/schema.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/model.h"
#include "model/operator_traits.h"

namespace vernier {
namespace {

std::string attribute_text(const onnx::AttributeProto& attribute) {
  switch (attribute.type()) {
    case onnx::AttributeProto::FLOAT:
      return fmt::format("{:g}", attribute.f());
    case onnx::AttributeProto::INT:
      return std::to_string(attribute.i());
    case onnx::AttributeProto::STRING:
      return printable(attribute.s());
    case onnx::AttributeProto::INTS:
      return fmt::format("[{}]", fmt::join(attribute.ints().begin(), attribute.ints().end(), ", "));
    case onnx::AttributeProto::FLOATS:
      return fmt::format("[{:g}]", fmt::join(attribute.floats().begin(), attribute.floats().end(), ", "));
    default:
      return "another value";
  }
}

/// How far a window moves and reaches. Shapes decide the pads of "SAME_UPPER", which other tools write out.
bool says_pads(std::string_view name) { return name == "auto_pad" || name == "pads"; }

bool pads_by_shape(const onnx::NodeProto& node) {
  const onnx::AttributeProto* automatic = find_attribute(node, "auto_pad");
  return automatic != nullptr && (automatic->s() == "SAME_UPPER" || automatic->s() == "SAME_LOWER");
}

/// Without pads, or with pads of 0 only.
bool pads_nothing(const onnx::NodeProto& node) {
  return !pads_by_shape(node) && std::ranges::all_of(attribute_ints(node, "pads"), [](auto pad) { return pad == 0; });
}

/// Whether the pads of `written` are those that `automatic` makes for some size of the input.
bool may_pad_the_same(const onnx::NodeProto& automatic, const onnx::NodeProto& written) {
  std::vector<std::int64_t> kernel = attribute_ints(automatic, "kernel_shape");
  if (kernel.empty()) kernel = attribute_ints(written, "kernel_shape");
  const std::size_t rank = kernel.size();
  const auto given = [&](const char* name, std::size_t i, std::int64_t fallback) {
    const std::vector<std::int64_t> values = attribute_ints(written, name);
    return i < values.size() ? values[i] : fallback;
  };
  const bool upper = find_attribute(automatic, "auto_pad")->s() == "SAME_UPPER";
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t reach = (kernel[i] - 1) * given("dilations", i, 1);
    const std::int64_t begin = given("pads", i, 0), end = given("pads", rank + i, 0);
    const std::int64_t more = upper ? end - begin : begin - end;
    const std::int64_t least = std::max<std::int64_t>(reach + 1 - given("strides", i, 1), 0);
    if (begin + end < least || begin + end > reach || more < 0 || more > 1) return false;
  }
  return true;
}

/// Whether both pad the same, or only shapes tell.
bool same_pads(const onnx::NodeProto& ref, const onnx::NodeProto& low) {
  if (pads_by_shape(ref) == pads_by_shape(low)) return pads_nothing(ref) && pads_nothing(low);
  return pads_by_shape(ref) ? may_pad_the_same(ref, low) : may_pad_the_same(low, ref);
}

std::string pads_text(const onnx::NodeProto& node) {
  const onnx::AttributeProto* told = find_attribute(node, pads_by_shape(node) ? "auto_pad" : "pads");
  return told == nullptr ? "no pads" : fmt::format("{} {}", told->name(), attribute_text(*told));
}

/// Whether a node without this attribute computes the same.
bool is_default(const onnx::NodeProto& node, const onnx::AttributeProto& attribute, int opset) {
  const std::string& name = attribute.name();
  const auto all = [&](std::int64_t value) {
    return std::ranges::all_of(attribute.ints(), [&](std::int64_t given) { return given == value; });
  };
  if (name == "strides" || name == "dilations") return all(1);
  if (name == "pads" || name == "output_padding") return all(0);
  if (name == "kernel_shape") return has(node, Trait::Weighted);  // the weight has it
  if (name == "allowzero") return true;                           // shapes of exporters hold no 0 that is meant
  if (is_onnx(node, "Transpose") && name == "perm") {
    const int last = attribute.ints_size() - 1;
    for (int i = 0; i <= last; ++i) {
      if (attribute.ints(i) != last - i) return false;
    }
    return true;
  }
  const onnx::OpSchema* schema =
      of_onnx(node) ? onnx::OpSchemaRegistry::Schema(node.op_type(), opset, onnx::ONNX_DOMAIN) : nullptr;
  if (schema == nullptr) return false;
  const auto known = schema->attributes().find(name);
  if (known == schema->attributes().end()) return false;
  const onnx::AttributeProto& value = known->second.default_value;
  return value.has_type() && value.type() == attribute.type() && attribute_text(value) == attribute_text(attribute);
}

}  // namespace

std::string other_attribute(const onnx::NodeProto& ref, const onnx::NodeProto& low,
                            const std::set<std::string_view>& but) {
  if (pads_by_shape(ref) != pads_by_shape(low) && !same_pads(ref, low)) {
    return fmt::format("{}, in the float model {}", pads_text(low), pads_text(ref));
  }
  for (const onnx::AttributeProto& wanted : ref.attribute()) {
    const onnx::AttributeProto* held = find_attribute(low, wanted.name());
    if (held == nullptr || wanted.type() == onnx::AttributeProto::GRAPH || but.contains(wanted.name())) continue;
    if (held->SerializeAsString() == wanted.SerializeAsString() || wanted.name() == "allowzero") continue;
    if (says_pads(wanted.name()) && same_pads(ref, low)) continue;
    const std::string is = attribute_text(*held), was = attribute_text(wanted);
    if (is != was) return fmt::format("{} {}, in the float model {}", printable(wanted.name()), is, was);
  }
  return {};
}

bool differs_in_axes_alone(const onnx::NodeProto& ref, const onnx::NodeProto& low) {
  return std::ranges::all_of(ref.attribute(), [&](const onnx::AttributeProto& wanted) {
    const onnx::AttributeProto* held = find_attribute(low, wanted.name());
    const bool same = held == nullptr || held->SerializeAsString() == wanted.SerializeAsString();
    return same || wanted.name() == "axis" || wanted.name() == "axes" || wanted.name() == "perm";
  });
}

std::optional<onnx::NodeProto> with_other_numbers(const onnx::NodeProto& ref, const onnx::NodeProto& low,
                                                  const std::set<std::string_view>& but) {
  onnx::NodeProto changed = low;
  bool any = false;
  for (onnx::AttributeProto& held : *changed.mutable_attribute()) {
    const onnx::AttributeProto* wanted = find_attribute(ref, held.name());
    if (wanted == nullptr || held.type() != onnx::AttributeProto::FLOAT || but.contains(held.name())) continue;
    if (attribute_text(held) == attribute_text(*wanted)) continue;
    held.set_f(wanted->f());
    any = true;
  }
  return any ? std::optional(std::move(changed)) : std::nullopt;
}

std::string lone_attribute(const onnx::NodeProto& ref, const onnx::NodeProto& low, int opset,
                           const std::set<std::string_view>& but) {
  const auto lone = [&](const onnx::NodeProto& node, const onnx::NodeProto& other) -> const onnx::AttributeProto* {
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (find_attribute(other, attribute.name()) != nullptr || but.contains(attribute.name())) continue;
      if (says_pads(attribute.name()) && same_pads(ref, low)) continue;
      if (!is_default(node, attribute, opset)) return &attribute;
    }
    return nullptr;
  };
  if (const onnx::AttributeProto* wanted = lone(ref, low)) {
    return fmt::format("no {}, in the float model {}", printable(wanted->name()), attribute_text(*wanted));
  }
  if (const onnx::AttributeProto* held = lone(low, ref)) {
    return fmt::format("{} {}, in the float model none", printable(held->name()), attribute_text(*held));
  }
  return {};
}

}  // namespace vernier
