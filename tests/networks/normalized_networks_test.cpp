// Each BatchNormalization of the shared networks with the layer before it: folding it costs at most 1 dB.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "model/graph_edit.h"
#include "normalized_layer.h"
#include "shared_networks.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

class Normalized : public ::testing::TestWithParam<std::filesystem::path> {};

/// The two nodes as a model by themselves, on an input of 8 x 8; without nodes when there is nothing to fold.
Model pair_of(const Model& model, const onnx::NodeProto& layer, const onnx::NodeProto& norm, Shape& input) {
  Model pair;
  onnx::ModelProto proto = network("g (float x) => (float y) { [n] y = Identity(x) }", {}, 17);
  onnx::GraphProto& graph = *proto.mutable_graph();
  graph.clear_node();
  const auto weight = initializer(model, layer.input(1));
  if (!weight) return pair;
  const std::int64_t groups = attribute_int(layer, "group", 1);
  const std::int64_t channels = layer.op_type() == "Conv" ? weight->shape()[1] * groups : weight->shape()[0];
  input = {1, channels};
  for (std::size_t i = 2; i < weight->shape().size(); ++i) input.push_back(8);
  onnx::NodeProto* first = graph.add_node();
  *first = layer;
  first->set_input(0, "x");
  *graph.add_node() = norm;
  graph.mutable_node(1)->set_output(0, "y");
  for (const onnx::NodeProto& node : graph.node()) {
    for (int i = 1; i < node.input_size(); ++i) {
      if (const auto value = initializer(model, node.input(i)))
        *graph.add_initializer() = proto_of(*value, node.input(i));
    }
  }
  auto* shape = graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  shape->clear_dim();
  for (const std::int64_t dim : input) shape->add_dim()->set_dim_value(dim);
  graph.mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  return adopt_model(proto);
}

TEST_P(Normalized, FoldingCostsAtMostOneDecibel) {
  const Model model = read_model(GetParam());
  std::map<std::string, const onnx::NodeProto*> makers;
  for (const onnx::NodeProto& node : model.proto.graph().node()) makers[node.output(0)] = &node;
  for (const onnx::NodeProto& norm : model.proto.graph().node()) {
    if (norm.op_type() != "BatchNormalization" || !makers.contains(norm.input(0))) continue;
    const onnx::NodeProto& layer = *makers.at(norm.input(0));
    if (layer.op_type() != "Conv" && layer.op_type() != "ConvTranspose") continue;
    Shape input;
    const Model pair = pair_of(model, layer, norm, input);
    if (pair.proto.graph().node_size() == 0) continue;
    const Samples samples = bell_samples("x", input, 2);
    for (const Format format : {Format::Int8, Format::Float8E4M3FN, Format::Float16}) {
      for (const bool per_channel : {true, false}) {
        EXPECT_GE(all_low_db(pair, samples, format, per_channel, true),
                  all_low_db(pair, samples, format, per_channel, false) - 1)
            << layer.name() << " " << format_name(format) << (per_channel ? "" : " per tensor");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, Normalized, ::testing::ValuesIn(shared_networks()), network_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Normalized);

TEST(NormalizedNetworks, AreThere) { expect_shared_networks(); }

}  // namespace
}  // namespace vernier::testing
