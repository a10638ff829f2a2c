// Bytes as a calibration cache: read, written again in every form, read again. Only vernier::Error may come out, never
// an Internal one.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "fuzz_target.h"
#include "plan/calibration_cache.h"
#include "vernier/error.h"

std::vector<std::string> fuzz_seeds() {
  using namespace vernier;
  const RangesByTensor ranges{{"a: b", RangeStats{.min = -1, .max = 2.5F}}, {"x", RangeStats{.min = 0, .max = 1e-3F}}};
  return {to_tensorrt_cache(ranges), to_ranges_json(ranges, "mse", "m.onnx", "0123456789abcdef"),
          to_onnxruntime_json(ranges, "Entropy"), R"({"x": [0, 1], "y": {"lowest": -1, "highest": {"data": [2]}}})"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const vernier::CachedRanges cache = vernier::calibration_cache_from_text(text, "fuzz.cache");
    const std::string ours = vernier::to_ranges_json(cache.ranges, "minmax", "m.onnx", "");
    if (vernier::to_ranges_json(vernier::calibration_cache_from_text(ours, "again").ranges, "minmax", "m.onnx", "") !=
        ours) {
      std::fputs("written and read again it is another\n", stderr);
      std::abort();
    }
    vernier::calibration_cache_from_text(vernier::to_onnxruntime_json(cache.ranges, "MinMax"), "again");
    vernier::calibration_cache_from_text(vernier::to_tensorrt_cache(cache.ranges), "again");
  } catch (const vernier::Error& error) {
    if (error.kind() == vernier::ErrorKind::Internal) {
      std::fprintf(stderr, "internal error: %s\n", error.what());
      std::abort();
    }
  }
  return 0;
}
