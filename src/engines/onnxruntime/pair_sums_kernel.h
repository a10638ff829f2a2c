// Pairs of products that saturate in 16 bits, as on x86 CPUs without VNNI.
#pragma once

#include <onnxruntime_c_api.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engines/onnxruntime/kernel.h"
#include "numerics/pair_sums.h"
#include "numerics/round.h"
#include "vernier/tensor.h"

namespace vernier {

/// PairSums (operators.h): adds to sums of products what a kernel that saturates pairs of them makes of each sum, and
/// counts the pairs that saturate.
struct PairSumsKernel final : Kernel {
  std::optional<PairSums> sums;
  std::size_t outputs = 0, terms = 0, slot = 0;
  float data_scale = 1;
  std::int64_t data_zero = 0, group = 0, same = 0;
  std::vector<float> scales;
  std::vector<std::int64_t> shape, strides, dilations, pads;
  Shape batch;  // of a weight that is several matrices

  void create(const OrtKernelInfo* info);
  void compute(OrtKernelContext* context) const override;

 private:
  std::vector<std::int64_t> ints(const OrtKernelInfo* info, const char* name) const;
  std::vector<std::uint8_t> codes_of(std::span<const float> values) const;
  void add_excess(const Input& data, const Shape& result, std::span<float> out, RoundEvents& events) const;
  void add_to_products(const Shape& data, const Shape& result, std::span<const std::uint8_t> codes,
                       std::span<float> out, RoundEvents& events) const;
  void add(std::size_t row, std::span<const std::uint8_t> read, float& sum, RoundEvents& events) const;
};

}  // namespace vernier
