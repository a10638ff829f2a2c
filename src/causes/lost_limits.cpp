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
        lost.given
            ? "TensorRT-RTX loses a limit of this Clip in the file that was given: values beyond it come through"
            : "TensorRT-RTX would lose a limit of this layer written as a Clip: values beyond it would come through";
    found.push_back(
        {"lost-limit",
         lost.layer,
         {},
         confidence,
         {},
         std::string(what) + ". The output model has a Relu and a Min (or a Max) in its place, which lose none",
         {"keep-high"}});
  }
  return found;
}

}  // namespace vernier::causes
