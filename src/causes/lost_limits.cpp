// What TensorRT-RTX leaves out of a layer that it makes one kernel with its neighbours.
#include <string>
#include <vector>

#include "causes/cause.h"

namespace vernier::causes {

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

}  // namespace vernier::causes
