// Float32 against itself: every layer of every shared network is examined as if something were wrong with it, and no
// cause is named. A cause that only looks at values, and not at what the format makes of them, would be.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "flow/explain.h"
#include "flow/setup.h"
#include "tiny_networks.h"

namespace vernier::testing {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> networks() {
  const char* given = std::getenv("VERNIER_SHARED");
  const fs::path folder = fs::path(given != nullptr ? given : VERNIER_SHARED_DIR) / "models";
  std::vector<fs::path> found;
  std::error_code missing;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, missing)) {
    if (fs::exists(entry.path() / "model.onnx")) found.push_back(entry.path() / "model.onnx");
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Two random samples; dynamic dimensions small, and large enough for the networks that convolve.
MeasureOptions two_samples(const fs::path& path) {
  MeasureOptions options;
  for (const InputInfo& input : model_inputs(read_model(path))) {
    Shape shape = input.shape;
    for (std::int64_t& dim : shape) dim = dim < 0 ? 1 : dim;
    if (path.string().find("ppocr") != std::string::npos) shape = {1, 3, 32, 64};
    if (path.string().find("silero") != std::string::npos && input.name == "input") shape = {1, 576};
    options.data.shapes[input.name] = shape;
  }
  options.data.random_samples = 2;
  options.threads = 1;
  return options;
}

class Clean : public ::testing::TestWithParam<fs::path> {};

TEST_P(Clean, Float32HasNoCause) {
  const Loaded loaded = load(GetParam(), {Format::Float32}, two_samples(GetParam()), {});
  Plan plan;
  std::vector<LayerRow> rows;
  for (const Layer& layer : loaded.subject.layers) {
    plan.layers.push_back({layer.name, Format::Float32});
    if (!layer.graph.empty()) continue;
    LayerRow row;
    row.name = layer.name;
    row.op_type = layer.op_type;
    row.own_sqnr_db = -INFINITY;  // as if: examined first
    rows.push_back(row);
  }
  ASSERT_FALSE(rows.empty());
  Experiment experiment(loaded.subject, nullptr, plan, {});
  experiment.reference = run_reference(loaded.subject, {});
  experiment.run_all_low({});
  ExplainOptions options;
  options.most_layers = rows.size();
  options.missed = true;
  const Explanation found = explain(experiment, {}, rows, {}, options);
  EXPECT_EQ(found.examined.size(), rows.size());
  for (const Cause& cause : found.causes) ADD_FAILURE() << cause.id << " at " << cause.layer << ": " << cause.sentence;
}

INSTANTIATE_TEST_SUITE_P(Networks, Clean, ::testing::ValuesIn(networks()),
                         [](const ::testing::TestParamInfo<fs::path>& network) {
                           std::string name = network.param.parent_path().filename();
                           std::replace_if(
                               name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Clean);

TEST(CleanNetworks, AreThere) {
  if (networks().empty() && std::getenv("CI") == nullptr) GTEST_SKIP() << "no shared networks: set VERNIER_SHARED";
  EXPECT_EQ(networks().size(), 13U);
}

}  // namespace
}  // namespace vernier::testing
