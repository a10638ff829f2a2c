#include "options/reduce_range_option.h"

#include <fmt/format.h>

#include <algorithm>

#include "vernier/error.h"
#include "vernier/format.h"

namespace vernier::cli {

void add_reduce_range_option(CLI::App& app, bool& reduce_range, const char* group) {
  add_flag(app, "--reduce-range", reduce_range,
           "Weights in 7 bits, whose products no x86 CPU without VNNI saturates; --target onnxruntime, openvino "
           "(default: 8 bits)")
      .group(group);
}

void apply_reduce_range(bool reduce_range, PrecisionOptions& precision) {
  if (!reduce_range) return;
  if (precision.target == Target::TensorRt) {
    throw Error(ErrorKind::Usage, "--reduce-range: TensorRT sums products in 32 bits, no weight saturates there",
                "leave it out, or choose --target onnxruntime");
  }
  const bool eight = std::ranges::any_of(
      precision.low, [](Format format) { return format == Format::Int8 || format == Format::UInt8; });
  if (!eight || precision.rules.weights_only) {
    throw Error(ErrorKind::Usage, "--reduce-range: no product of int8 weights and uint8 data is summed", "add --int8");
  }
  precision.rules.reduce_range = true;
}

}  // namespace vernier::cli
