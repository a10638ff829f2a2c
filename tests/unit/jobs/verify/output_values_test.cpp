// What is said of outputs whose values an earlier run gave.
#include "jobs/verify/output_values.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "analysis/beside_known.h"
#include "analysis/output_store.h"
#include "analysis/requirement.h"
#include "plan/simulate_typed.h"
#include "tiny_networks.h"
#include "vernier/report/figures.h"
#include "vernier/report/note_text.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

OutputStore stored(std::size_t samples, const std::vector<float>& values) {
  OutputStore store;
  for (std::size_t i = 0; i < samples; ++i) store.put(i, {Tensor::of({1, 5}, values)});
  return store;
}

TEST(OutputValues, OfARunThatWasMadeAreNotRunAgain) {
  const Samples samples = bell_samples("x", kConvNetInput, 2, 1.5F);
  const Subject subject = subject_of(model_of(kConvNet, conv_net_weights()), samples);
  SimulatedFile file;
  file.model = subject.model;
  std::map<std::string, OutputStats> sums;
  sums["y"];
  EXPECT_TRUE(constant_outputs(subject, file, sums).empty()) << "the model's own outputs vary";
  const OutputStore reference = outputs_of_float(subject);
  const OutputStore flat = stored(2, {3, 3, 3, 3, 3});
  const std::vector<Note> notes = constant_outputs(subject, file, sums, {&reference, &flat});
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].code, "output-constant");

  RunFigures figures;
  figures.outputs.emplace_back().name = "y";
  figures.outputs.front().sqnr_db = 30;
  EXPECT_TRUE(offset_outputs(subject, figures).empty());
  const OutputStore far = stored(2, {100, 101, 102, 103, 104});
  ASSERT_EQ(offset_outputs(subject, figures, {&far, nullptr}).size(), 1U);
}

TEST(OutputValues, ThatOnlyTheFileHasConstantAreNamedWithTheirPair) {
  const Samples samples = bell_samples("x", {1, 5}, 8);
  const std::string interface = "g (float[1,5] x) => (float[1,5] y) <float[5] k = {100, 40, 16, 0.4, 0.3}";
  const Subject subject = subject_of(model_of(interface + "> { y = Mul (x, k) }"), samples);
  const SimulatedFile file =
      simulate_typed(model_of(interface + ", float s = {2}, int8 z = {0}> { p = Mul (x, k) c = QuantizeLinear (p, s, z)"
                                          " y = DequantizeLinear (c, s, z) }"));
  std::map<std::string, OutputStats> sums;
  const auto hidden = [&] {
    const std::vector<Note> notes = constant_outputs(subject, file, sums);
    return notes.size() == 1 ? note_text(notes.front()) : std::to_string(notes.size()) + " notes";
  };
  EXPECT_TRUE(hidden().find("2 of 5 places along axis 1 of 'y' (3, 4)") != std::string::npos) << hidden();
  EXPECT_TRUE(hidden().find("'p' has one scale, 2") != std::string::npos) << hidden();
}

}  // namespace
}  // namespace vernier::testing
