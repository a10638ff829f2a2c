// Every shared network, cut at random places: the part computes on the whole's inner values what the whole computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "analysis/tensor_values.h"
#include "engines/onnxruntime/runtime.h"
#include "jobs/common/sources.h"
#include "model/subgraph.h"
#include "model/type_protos.h"
#include "shared_networks.h"
#include "tiny_networks.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

constexpr int kCuts = 6;
// The engine packs weights that are constants; a value that is a constant in the part only may be summed in another
// order.
constexpr double kRelative = 1e-5;

/// Tensors whose type is known: what a part may end with.
std::vector<std::string> outputs_of(const onnx::NodeProto& node, const std::map<std::string, onnx::TypeProto>& types) {
  std::vector<std::string> names;
  for (const std::string& name : node.output()) {
    const auto type = types.find(name);
    if (type != types.end() && type->second.has_tensor_type()) names.push_back(name);
  }
  return names;
}

void expect_equal(const Tensor& whole, const Tensor& part, const std::string& where) {
  ASSERT_EQ(whole.dtype(), part.dtype()) << where;
  ASSERT_EQ(whole.shape(), part.shape()) << where;
  if (whole.dtype() != Dtype::Float32) {
    EXPECT_TRUE(std::equal(whole.bytes().begin(), whole.bytes().end(), part.bytes().begin())) << where;
    return;
  }
  double largest = 0;
  double difference = 0;
  for (std::size_t i = 0; i < whole.floats().size(); ++i) {
    if (std::isnan(whole.floats()[i]) && std::isnan(part.floats()[i])) continue;
    largest = std::max(largest, static_cast<double>(std::abs(whole.floats()[i])));
    difference = std::max(difference, static_cast<double>(std::abs(whole.floats()[i] - part.floats()[i])));
  }
  EXPECT_LE(difference, kRelative * largest) << where;
}

class Extract : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(Extract, APartComputesWhatTheWholeDoes) {
  const Model whole = read_model(GetParam());
  std::map<std::string, onnx::TypeProto> types = infer_type_protos(whole);
  SourceOptions source;
  source.shapes = small_shapes(GetParam());
  const std::shared_ptr<const SampleSource> samples = samples_for(whole, source, {});
  TensorValues values(Runtime::load(), whole, *samples);
  std::vector<std::string> all;
  for (const onnx::NodeProto& node : whole.proto.graph().node()) {
    all.insert(all.end(), node.output().begin(), node.output().end());
  }
  values.learn_types(all, types);
  std::mt19937 random(7);
  const onnx::GraphProto& graph = whole.proto.graph();
  int compared = 0;
  for (int attempt = 0; attempt < 10 * kCuts && compared < kCuts; ++attempt) {
    const int last = static_cast<int>(random() % static_cast<unsigned>(graph.node_size()));
    const int first = static_cast<int>(random() % static_cast<unsigned>(last + 1));
    const std::vector<std::string> outputs = outputs_of(graph.node(last), types);
    if (outputs.empty()) continue;
    std::set<std::string> before;  // everything that exists in front of the cut
    for (const onnx::ValueInfoProto& input : graph.input()) before.insert(input.name());
    for (int i = 0; i < first; ++i) before.insert(graph.node(i).output().begin(), graph.node(i).output().end());
    const std::vector<int> nodes = nodes_between(whole, before, {outputs.begin(), outputs.end()});
    ASSERT_FALSE(nodes.empty());
    EXPECT_GE(nodes.front(), first);
    std::vector<std::string> wanted = boundary(whole, nodes);
    const bool typed = std::all_of(wanted.begin(), wanted.end(), [&](const std::string& name) {
      return types.contains(name) && types.at(name).has_tensor_type();
    });
    if (!typed) continue;
    const std::string where = "nodes " + std::to_string(first) + " to " + std::to_string(last);
    const TempFolder folder;
    write_model(piece_of(whole, nodes, outputs, types), folder / "part.onnx");
    const Model part = read_model(folder / "part.onnx");
    EXPECT_EQ(part.proto.graph().node_size(), static_cast<int>(nodes.size()));
    wanted.insert(wanted.end(), outputs.begin(), outputs.end());
    const Sample known = values.of(wanted, 1).front();
    const std::vector<Tensor> computed = Session(Runtime::load(), part, {.optimize = false}).run(known);
    ASSERT_EQ(computed.size(), outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) expect_equal(known.at(outputs[i]), computed[i], where);
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

INSTANTIATE_TEST_SUITE_P(Networks, Extract, ::testing::ValuesIn(shared_networks()), network_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Extract);

TEST(ExtractNetworks, AreThere) { expect_shared_networks(); }

}  // namespace
}  // namespace vernier::testing
