// What integers of few bits do to sums of codes.
#include <string>

#include "causes/cause.h"
#include "vernier/format.h"

namespace vernier::causes {

Finding pair_saturation(const LayerFacts& layer) {
  constexpr double kMatters = 1e-3;  // about where what is clipped is as large as what rounding costs
  if (layer.format != Format::UInt8 || layer.pairs_beyond_16_bits < kMatters) return {};
  const TensorFacts* weight = weight_of(layer);
  Cause cause =
      of(layer, weight == nullptr ? std::string() : weight->name, 0.35,
         {{"sums beyond 16 bits", 100 * layer.pairs_beyond_16_bits, "%"}, {"largest of 16 bits", 32767, ""}},
         fmt::format("about {:.2g} % of its sums of two products exceed 32767. ONNX Runtime and OpenVINO clip them "
                     "on x86 CPUs without VNNI. Weights in 7 bits fit: ‹reduce-range›.",
                     100 * layer.pairs_beyond_16_bits),
         {});
  cause.share = 0;  // of the damage of sums of 32 bits
  return cause;
}

}  // namespace vernier::causes
