// Inside a network, where something is picked, a small error becomes a large one.
#include <algorithm>
#include <functional>
#include <vector>

#include "causes/cause.h"
#include "vernier/report/causes.h"

namespace vernier::causes {

std::vector<Cause> close_decisions(const NetworkFacts& facts) {
  constexpr double kAmplified = 4;  // times the noise in front: the output is 6 dB worse than what was picked from
  std::vector<Cause> found;
  for (const DecisionFacts& decision : facts.decisions) {
    // Where what it reads is poor already, that is what is to be explained.
    const bool close = decision.noise < kPoorNoise && facts.output_noise > kAmplified * decision.noise;
    if (decision.changed <= 0 || !close) continue;
    found.push_back(
        {"close-decision",
         decision.name,
         {},
         0.8,
         {{"picks that changed", 100 * decision.changed, "%"}, {"SQNR of its input", db_of(decision.noise), "dB"}},
         fmt::format("{:.2g} % of the picks of this {} differ from FP32 in the hardest samples. Its input is close "
                     "({:.1f} dB), but the compared values are closer together than that error.",
                     100 * decision.changed, decision.op_type, db_of(decision.noise)),
         {"keep-high"}});
  }
  std::ranges::stable_sort(found, std::ranges::greater{},
                           [](const Cause& cause) { return cause.figures.front().value; });
  return found;
}

std::vector<Cause> amplified_values(const NetworkFacts& facts) {
  constexpr double kAmplified = 4;
  constexpr double kLittle = 0.1;  // of the output's noise: others explain the rest
  for (const AmplifierFacts& one : facts.amplifiers) {
    const bool grows = one.before < kPoorNoise && one.behind > kAmplified * one.before;
    if (!grows || one.behind < kLittle * facts.output_noise) continue;
    if (facts.output_noise < one.behind / kAmplified || facts.output_noise < kAmplified * one.before) continue;
    // Those behind read what this one makes.
    return {{"amplified-values",
             {},
             one.tensor,
             0.85,
             {{"SQNR in front", db_of(one.before), "dB"}, {"SQNR behind", db_of(one.behind), "dB"}},
             fmt::format("'{}' ({}) makes small values of '{}' count as much as large ones. In front of it the SQNR is "
                         "{:.1f} dB, behind it {:.1f} dB. Small values need finer scales in the layers that make '{}', "
                         "or a higher format.",
                         printable(one.name), one.op_type, printable(one.tensor), db_of(one.before), db_of(one.behind),
                         printable(one.tensor)),
             {"keep-high"}}};
  }
  return {};
}

}  // namespace vernier::causes
