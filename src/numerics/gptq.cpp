#include "numerics/gptq.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>

#include "base/parallel.h"
#include "numerics/tensor_grid.h"
#include "vernier/error.h"

namespace vernier {
namespace {

constexpr std::size_t kTogether = 64;  // results that are rounded side by side: their errors stay in the cache

/// Sixteen sums side by side, in an order that does not depend on the machine.
double dot(const float* a, const float* b, std::size_t count) {
  std::array<float, 16> sums{};
  std::size_t i = 0;
  for (; i + sums.size() <= count; i += sums.size()) {
    for (std::size_t k = 0; k < sums.size(); ++k) sums[k] += a[i + k] * b[i + k];
  }
  double total = 0;
  for (const float sum : sums) total += static_cast<double>(sum);
  for (; i < count; ++i) total += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return total;
}

/// The lower half of `a` becomes L, a = L L^T. False when `a` is not positive definite.
bool factorize(std::vector<float>& a, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    float* row = a.data() + i * size;
    for (std::size_t j = 0; j < i; ++j) {
      const float* above = a.data() + j * size;
      row[j] = static_cast<float>((static_cast<double>(row[j]) - dot(row, above, j)) / static_cast<double>(above[j]));
    }
    const double pivot = static_cast<double>(row[i]) - dot(row, row, i);
    if (!(pivot > 0) || !std::isfinite(pivot)) return false;
    row[i] = static_cast<float>(std::sqrt(pivot));
  }
  return true;
}

/// Of one group: the order in which inputs stand, rounded from the last to the first, and L^T of their products.
struct Factor {
  std::vector<std::size_t> order;
  std::vector<float> transposed;
};

std::optional<Factor> factor_of(const InputProducts& products, std::size_t group, double least) {
  const std::size_t size = products.inputs;
  const float* sums = products.sums.data() + group * size * size;
  Factor factor;
  factor.order.resize(size);
  std::iota(factor.order.begin(), factor.order.end(), std::size_t{0});
  const auto energy = [&](std::size_t k) { return sums[k * size + k]; };
  std::ranges::stable_sort(factor.order, {}, energy);
  double mean = 0;
  for (std::size_t k = 0; k < size; ++k) mean += static_cast<double>(energy(k)) / static_cast<double>(size);
  if (!(mean > 0) || !std::isfinite(mean)) return std::nullopt;
  // Products of few samples are singular up to rounding: more damping, rather than none of the gain.
  for (double damping = least; damping < 1000 * least; damping *= 10) {
    std::vector<float> a(size * size);
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j <= i; ++j) a[i * size + j] = sums[factor.order[i] * size + factor.order[j]];
      a[i * size + i] += static_cast<float>(damping * mean);
    }
    if (!factorize(a, size)) continue;
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < i; ++j) std::swap(a[i * size + j], a[j * size + i]);
    }
    factor.transposed = std::move(a);
    return factor;
  }
  return std::nullopt;
}

/// Grid of each value by itself: what shares a scale with what is the parameters' to say.
struct ValueGrids {
  std::vector<float> scale;
  std::vector<std::int32_t> zero_point;
  explicit ValueGrids(const QuantParams& grid, const Shape& shape) {
    const auto count = static_cast<std::size_t>(element_count(shape));
    scale.resize(count);
    zero_point.resize(grid.zero_point.empty() ? 0 : count);
    const bool single = grid.scale.size() == 1;
    const AxisGeometry g = geometry_along(shape, single ? -1 : grid.axis);
    const auto inner = static_cast<std::size_t>(g.inner);
    const auto channels = static_cast<std::size_t>(g.channels);
    const std::size_t block = grid.block > 0 ? static_cast<std::size_t>(grid.block) : 0;
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t at = 0;
      if (!single && block == 0) at = i / inner % channels;
      if (!single && block > 0) {
        const std::size_t blocks = (channels + block - 1) / block;
        at = (i / (inner * channels) * blocks + i / inner % channels / block) * inner + i % inner;
      }
      scale[i] = grid.scale.at(at);
      if (!zero_point.empty()) zero_point[i] = grid.zero_point.at(at);
    }
  }
};

void require_fit(const Tensor& weight, const WeightLayout& layout, const InputProducts& products) {
  const std::size_t size = products.inputs;
  if (products.groups == 0 || layout.results % products.groups != 0 ||
      layout.results * size != static_cast<std::size_t>(weight.count()) ||
      products.sums.size() != products.groups * size * size) {
    throw Error(ErrorKind::Internal, "products of inputs do not fit the weight that is to be rounded");
  }
}

}  // namespace

double output_energy(const Tensor& weight, const WeightLayout& layout, const std::vector<float>& rounded,
                     const InputProducts& products, std::size_t threads) {
  require_fit(weight, layout, products);
  const std::size_t size = products.inputs;
  const std::span<const float> values = weight.floats();
  const std::size_t per_group = layout.results / products.groups;
  double energy = 0;
  parallel_ordered(
      layout.results, threads,
      [&](std::size_t result) {
        std::vector<float> off(size);
        for (std::size_t k = 0; k < size; ++k) {
          const std::size_t at = result * layout.of_result + k * layout.of_input;
          off[k] = values[at] - rounded[at];
        }
        const float* sums = products.sums.data() + result / per_group * size * size;
        double own = 0;
        for (std::size_t k = 0; k < size; ++k) {
          if (off[k] != 0) own += static_cast<double>(off[k]) * dot(sums + k * size, off.data(), size);
        }
        return own;
      },
      [&](std::size_t, double own) {
        energy += own;
        return true;
      });
  return energy;
}

std::optional<std::vector<float>> gptq_round(const Tensor& weight, const WeightLayout& layout, const QuantParams& grid,
                                             const InputProducts& products, double damping, std::size_t threads) {
  const std::size_t size = products.inputs;
  const auto count = static_cast<std::size_t>(weight.count());
  require_fit(weight, layout, products);
  if (!scales_fit(grid, weight.shape())) throw Error(ErrorKind::Internal, "scales do not fit the weight");
  const std::size_t per_group = layout.results / products.groups;
  const std::size_t parts = (per_group + kTogether - 1) / kTogether;
  const ValueGrids grids(grid, weight.shape());
  const std::span<const float> values = weight.floats();
  std::vector<float> rounded(count);
  for (std::size_t group = 0; group < products.groups; ++group) {
    const std::optional<Factor> factor = factor_of(products, group, damping);
    if (!factor) return std::nullopt;
    const auto round_part = [&](std::size_t part) {
      const std::size_t first = group * per_group + part * kTogether;
      const std::size_t width = std::min(kTogether, per_group - part * kTogether);
      std::vector<float> errors(size * kTogether);  // d, [K, results]
      std::array<float, kTogether> wanted{};
      std::array<float, kTogether> got{};
      QuantParams column = grid;
      column.block = 0;
      column.axis = 0;
      column.scale.resize(width);
      if (!column.zero_point.empty()) column.zero_point.resize(width);
      for (std::size_t j = size; j-- > 0;) {
        const float* row = factor->transposed.data() + j * size;
        wanted.fill(0);
        for (std::size_t i = j + 1; i < size; ++i) {
          const float share = row[i];
          const float* error = errors.data() + i * kTogether;
          for (std::size_t m = 0; m < kTogether; ++m) wanted[m] += share * error[m];
        }
        const std::size_t input = factor->order[j] * layout.of_input;
        for (std::size_t m = 0; m < width; ++m) {
          const std::size_t at = (first + m) * layout.of_result + input;
          wanted[m] = values[at] + wanted[m] / row[j];
          column.scale[m] = grids.scale[at];
          if (!column.zero_point.empty()) column.zero_point[m] = grids.zero_point[at];
        }
        if (width == 1) column.axis = -1;
        round_to(column, static_cast<std::int64_t>(width), 1, std::span(wanted).first(width),
                 std::span(got).first(width));
        for (std::size_t m = 0; m < width; ++m) {
          const std::size_t at = (first + m) * layout.of_result + input;
          rounded[at] = got[m];
          errors[j * kTogether + m] = values[at] - got[m];
        }
      }
      return true;
    };
    parallel_ordered(parts, threads, round_part, [](std::size_t, bool) { return true; });
  }
  return rounded;
}

}  // namespace vernier
