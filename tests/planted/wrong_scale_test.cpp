// A good plan in which one scale is wrong: verify's table shows nothing before that layer, and the fall at it.
#include <cstddef>
#include <map>
#include <string>

#include "base/file.h"
#include "plan/plan.h"
#include "planted_nets.h"
#include "vernier/format.h"
#include "vernier/quantize.h"
#include "vernier/report/figures.h"
#include "vernier/report/verify.h"
#include "vernier/requirement.h"
#include "vernier/verify.h"

namespace vernier::testing {
namespace {

TEST(PlantedScale, VerifyShowsTheFirstDifferenceAtTheLayerWithTheWrongScale) {
  const TempFolder folder;
  diagnose_net(folder, network(kDeepNet, deep_net_weights()), kConvNetInput, Format::Int8, 24);
  const Plan good = plan_from_json(read_text(folder / "out" / "plan.json"), "plan.json");
  const auto verified = [&](const Plan& plan, const std::string& name) {
    replace_file(folder / (name + ".json"), plan_to_json(plan));
    QuantizeOptions quantize_options;
    quantize_options.model = folder / "net.onnx";
    quantize_options.output = folder / (name + ".onnx");
    quantize_options.plan = folder / (name + ".json");
    quantize(quantize_options);
    VerifyOptions verify_options;
    verify_options.float_model = folder / "net.onnx";
    verify_options.typed_model = folder / (name + ".onnx");
    verify_options.measure.data.location = (folder / "x.npy").string();
    verify_options.measure.requirement = Requirement{Metric::MinSqnrDb, {{24, ""}}};
    verify_options.measure.threads = 1;
    return verify(verify_options);
  };
  const VerifyReport clean = verified(good, "clean");
  EXPECT_TRUE(clean.figures.passed.value());
  for (const auto& [layer, tensor] : std::map<std::string, std::string>{{"conv2", "r1"}, {"conv4", "r3"}}) {
    Plan wrong = good;
    wrong.tensors.at(tensor).scale.front() /= 40;  // everything saturates
    const VerifyReport broken = verified(wrong, "broken_" + layer);
    EXPECT_FALSE(broken.figures.passed.value());
    ASSERT_EQ(broken.layers.size(), clean.layers.size());
    std::string first;
    for (std::size_t i = 0; i < clean.layers.size() && first.empty(); ++i) {
      if (broken.layers[i].sqnr_db != clean.layers[i].sqnr_db) first = broken.layers[i].name;
    }
    EXPECT_EQ(first, layer);
    for (const LayerRow& row : broken.layers) {
      if (row.name != layer) continue;
      EXPECT_LT(row.sqnr_db.value(), 6) << "most of the signal is gone";
    }
  }
}

}  // namespace
}  // namespace vernier::testing
