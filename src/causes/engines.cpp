// What engines compute differently from what a file says: in kernels of their own, for one layer or for several as one.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "causes/cause.h"

namespace vernier {

double EngineLossFacts::share() const { return std::isfinite(there) ? std::clamp(1 - simulated / there, 0.0, 1.0) : 1; }

namespace causes {

std::vector<Cause> engine_loss(const NetworkFacts& facts) {
  if (!facts.engine_loss) return {};
  const EngineLossFacts& lost = *facts.engine_loss;
  constexpr double kLeast = 0.01;
  if (!(lost.share() >= kLeast)) return {};
  std::string text = fmt::format(
      "{} gets {:.1f} dB, not {:.1f} dB as simulated{}. Its own fusions and kernels add {:.0f} % of the noise",
      lost.engine, db_of(lost.there), db_of(lost.simulated),
      lost.missed ? ", and misses the requirement for that reason" : "", 100 * lost.share());
  if (!lost.layer.empty())
    text += fmt::format(". The result of this {} is the first that differs", printable(lost.op_type));
  if (!lost.option.empty())
    text += fmt::format(". The session option {} {} it", lost.option, lost.gone ? "avoids" : "reduces");
  Cause cause{std::string(kEngineLoss),
              lost.layer,
              {},
              lost.layer.empty() ? 0.85 : 0.95,
              {{"SQNR on the engine", db_of(lost.there), "dB"},
               {"SQNR simulated", db_of(lost.simulated), "dB"},
               {"noise of the engine", 100 * lost.share(), "%"}},
              text + ".",
              {"keep-high"}};
  cause.share = lost.share();
  return {cause};
}

std::vector<Cause> lost_limits(const NetworkFacts& facts) {
  std::vector<Cause> found;
  for (const LostLimitFacts& lost : facts.lost_limits) {
    // Whether values reach the limit, and the engine is that one, is not known here.
    const double confidence = lost.given ? 0.6 : 0.3;
    const char* const what =
        lost.given ? "TensorRT-RTX drops a limit of this Clip in the given file, so values beyond it pass"
                   : "TensorRT-RTX would drop a limit of this layer if it were a Clip, so values beyond it would pass";
    found.push_back(
        {"lost-limit",
         lost.layer,
         {},
         confidence,
         {},
         std::string(what) + ". The output model uses Relu and Min (or Max) instead, which keep their limits.",
         {"keep-high"}});
  }
  return found;
}

}  // namespace causes
}  // namespace vernier
