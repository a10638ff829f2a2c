#include "plan/rules/openvino_reader_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "model/model.h"
#include "model/openvino_reader.h"
#include "model/operator_traits.h"
#include "plan/rules/openvino_kernels.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Node = onnx::NodeProto;

std::string attribute_text(const Node& node, std::string_view name) {
  const onnx::AttributeProto* attribute = find_attribute(node, name);
  return attribute == nullptr ? std::string() : attribute->s();
}

bool has_input(const Node& node, int index) { return node.input_size() > index && !node.input(index).empty(); }

/// A condition on one operator, and what OpenVINO does where it holds.
struct Reading {
  std::string_view op_type;  // empty: any
  bool (*holds)(const QdqGraph& graph, const Node& node);
  std::string_view why;
  std::string_view change;
};

constexpr std::string_view kExportWithout = "export the network without it";
constexpr std::string_view kExportOther = "export it with half_pixel or align_corners";

constexpr std::array kOtherwise = {
    Reading{"RoiAlign", [](const QdqGraph&, const Node& node) { return lacks_attribute_for_openvino(node); },
            "OpenVINO uses sampling_ratio=1 if the attribute is missing, and the default of ONNX is 0",
            "write sampling_ratio=0 into the node"},
    Reading{"RoiAlign", [](const QdqGraph&, const Node& node) { return attribute_text(node, "mode") == "max"; },
            "OpenVINO computes mode=max differently", "export it with mode=avg"},
    Reading{"AveragePool",
            [](const QdqGraph& graph, const Node& node) {
              return averages_beyond_padding(node, graph.shape(node.input(0)));
            },
            "OpenVINO divides by another count, because ceil_mode and count_include_pad are both set",
            "put the padding into a Pad in front and set ceil_mode=0, as ‹target› openvino does for fixed sizes"},
    Reading{"MaxPool",
            [](const QdqGraph& graph, const Node& node) { return drops_window(node, graph.shape(node.input(0))); },
            "OpenVINO keeps a last window that lies in the padding, and ONNX drops it",
            "write the padding for ceil_mode=0, as ‹target› openvino does"},
    Reading{"Resize", [](const QdqGraph&, const Node& node) { return attribute_int(node, "antialias", 0) != 0; },
            "OpenVINO ignores antialias", kExportWithout},
    Reading{"Resize",
            [](const QdqGraph&, const Node& node) {
              return attribute_int(node, "exclude_outside", 0) != 0 && attribute_text(node, "mode") == "cubic";
            },
            "OpenVINO ignores exclude_outside", kExportWithout},
    Reading{"Resize",
            [](const QdqGraph&, const Node& node) {
              const std::string policy = attribute_text(node, "keep_aspect_ratio_policy");
              return !policy.empty() && policy != "stretch";
            },
            "OpenVINO ignores keep_aspect_ratio_policy", "write the final sizes, with the policy stretch"},
    Reading{"LSTM", [](const QdqGraph&, const Node& node) { return has_input(node, 7); },
            "OpenVINO ignores the peepholes", kExportWithout},
    Reading{"LSTM", [](const QdqGraph&, const Node& node) { return attribute_int(node, "input_forget", 0) != 0; },
            "OpenVINO ignores input_forget", kExportWithout},
    Reading{"",
            [](const QdqGraph&, const Node& node) {
              return has(node, Trait::Recurrent) && attribute_int(node, "layout", 0) != 0;
            },
            "OpenVINO ignores layout=1", "export it with layout=0"},
    Reading{"DFT",
            [](const QdqGraph& graph, const Node& node) {
              constexpr int kAxisIsAnInput = 20;
              if (attribute_int(node, "onesided", 0) != 0) return true;
              if (graph.opset() < kAxisIsAnInput || !has_input(node, 2)) return false;
              const std::optional<Tensor> axis = graph.value(node.input(2));
              const auto rank = graph.rank(node.input(0));
              if (!axis || axis->dtype() != Dtype::Int64 || axis->count() != 1 || !rank) return true;
              const std::int64_t value = axis->int64s()[0];
              return value != -2 && value != static_cast<std::int64_t>(*rank) - 2;
            },
            "OpenVINO reads the axis of a DFT, and one that is one-sided, differently",
            "leave the DFT out of the file"},
};

/// Sigmoid, Tanh and Relu are what its recurrent layers know. ONNX compares the names without case.
bool has_other_activation(const QdqGraph& /*graph*/, const Node& node) {
  const onnx::AttributeProto* names = has(node, Trait::Recurrent) ? find_attribute(node, "activations") : nullptr;
  if (names == nullptr) return false;
  constexpr std::array<std::string_view, 3> kKnown = {"sigmoid", "tanh", "relu"};
  return std::ranges::any_of(names->strings(), [&](const std::string& name) {
    return std::ranges::find(kKnown, lower_case(name)) == kKnown.end();
  });
}

constexpr std::array kRefused = {
    Reading{"", has_other_activation, "OpenVINO knows only Sigmoid, Tanh and Relu in a recurrent layer",
            kExportWithout},
    Reading{"Pad", [](const QdqGraph&, const Node& node) { return attribute_text(node, "mode") == "wrap"; },
            "OpenVINO does not know mode=wrap", "write it as a Concat of Slices"},
    Reading{"Resize",
            [](const QdqGraph&, const Node& node) {
              const std::string mode = attribute_text(node, "coordinate_transformation_mode");
              return mode == "half_pixel_symmetric" || mode == "tf_crop_and_resize";
            },
            "OpenVINO does not know its coordinate_transformation_mode", kExportOther},
};

template <class Found>
void look_up(std::span<const Reading> readings, const QdqGraph& graph, const Node& node, const Found& found) {
  for (const Reading& reading : readings) {
    const bool applies = reading.op_type.empty() ? of_onnx(node) : is_onnx(node, reading.op_type);
    if (applies && reading.holds(graph, node)) found(std::string(reading.why), std::string(reading.change));
  }
}

}  // namespace

void reads_otherwise(const QdqGraph& graph, const Node& node, std::vector<PlacementFinding>& findings) {
  const auto rank = node.input_size() > 0 ? graph.rank(node.input(0)) : std::nullopt;
  const bool along_last = rank && attribute_int(node, "axis", 1) == static_cast<std::int64_t>(*rank) - 1;
  const int opset = opset_read_by_openvino(node, graph.opset());
  if (opset > graph.opset() && !(is_onnx(node, "Softmax") && along_last)) {
    computes_otherwise(findings,
                       fmt::format("OpenVINO ignores the axes of {} in opset {}", node.op_type(), graph.opset()),
                       fmt::format("raise the file to opset {}", opset));
  }
  look_up(kOtherwise, graph, node, [&](std::string why, std::string change) {
    computes_otherwise(findings, std::move(why), std::move(change));
  });
}

void refuses_to_read(const QdqGraph& graph, const Node& node, std::vector<PlacementFinding>& findings) {
  look_up(kRefused, graph, node, [&](std::string why, std::string change) {
    computes_otherwise(findings, std::move(why), std::move(change));
    findings.back().refused = true;
  });
}

}  // namespace vernier
