// Float32 against itself: every layer of every shared network is examined as if something were wrong with it, and no
// cause is named. A cause that only looks at values, and not at what the format makes of them, would be.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "jobs/common/load.h"
#include "jobs/common/sources.h"
#include "jobs/diagnose/explain.h"
#include "shared_networks.h"
#include "vernier/format.h"
#include "vernier/measure.h"
#include "vernier/report/causes.h"
#include "vernier/report/figures.h"

namespace vernier::testing {
namespace {

class Clean : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(Clean, Float32HasNoCause) {
  MeasureOptions options;
  options.data.shapes = small_shapes(GetParam());
  options.data.random_samples = 2;
  options.threads = 1;
  const JobSinks sinks;
  Sources sources(options, sinks);
  const Loaded loaded = load_judged(GetParam(), {.formats = {Format::Float32}}, sources);
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
  FloatRuns runs{std::make_shared<const Reference>(run_reference(loaded.subject, {}))};
  Experiment experiment(std::make_shared<const Subject>(loaded.subject), nullptr, runs, runs.reference->shapes, plan,
                        {});
  experiment.run_all_low({});
  ExplainOptions everything;
  everything.most_layers = rows.size();
  everything.missed = true;
  RecordUse use;
  Measured measured(experiment, nullptr, use);
  const Explanation found = explain(measured, {}, rows, {}, everything);
  EXPECT_EQ(found.examined.size(), rows.size());
  for (const Cause& cause : found.causes) ADD_FAILURE() << cause.id << " at " << cause.layer << ": " << cause.sentence;
}

INSTANTIATE_TEST_SUITE_P(Networks, Clean, ::testing::ValuesIn(shared_networks()), network_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Clean);

TEST(CleanNetworks, AreThere) { expect_shared_networks(); }

}  // namespace
}  // namespace vernier::testing
