#include "numerics/gptq.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>

#include "base/parallel.h"
#include "numerics/gptq_simd.h"
#include "numerics/tensor_grid.h"
#include "vernier/error.h"

namespace vernier {
namespace {

constexpr std::size_t kPanel = 2 * kDotLanes;    // columns that are made at a time: they stay in the cache
constexpr std::size_t kRowsOfOne = 64;           // of a matrix, that one thread works on at a time
constexpr std::size_t kFewProducts = 1U << 19U;  // for each column of a panel: starting threads costs as much

/// What is left of a sum behind its last whole lanes.
double added_tail(double total, const float* a, const float* b, std::size_t from, std::size_t count) {
  for (std::size_t i = from; i < count; ++i) total += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return total;
}

/// Rows times columns over `count` products, a multiple of kDotLanes, in an order that does not depend on the machine.
using Dots = std::array<std::array<double, kDotColumns>, kDotRows>;
Dots dots(const std::array<const float*, kDotRows>& rows, const std::array<const float*, kDotColumns>& columns,
          std::size_t count) {
  LaneSums sums;
  run_lane_sums(rows, columns, count, sums);
  Dots totals{};
  for (std::size_t row = 0; row < kDotRows; ++row) {
    for (std::size_t column = 0; column < kDotColumns; ++column) {
      for (const float sum : sums[row][column]) totals[row][column] += static_cast<double>(sum);
    }
  }
  return totals;
}

std::size_t whole_lanes(std::size_t count) { return count / kDotLanes * kDotLanes; }

/// `count` rows from `first` on, each `size` apart; those beyond are the last once more.
template <std::size_t N>
std::array<const float*, N> rows_from(const float* matrix, std::size_t size, std::size_t first, std::size_t end) {
  std::array<const float*, N> rows;
  for (std::size_t i = 0; i < N; ++i) rows[i] = matrix + std::min(first + i, end - 1) * size;
  return rows;
}

/// Columns `from` to `to` of L, in the rows from `first` to `last`, kDotRows at most; the rows of these columns are
/// done. `from` is a multiple of kDotLanes.
void make_columns(std::vector<float>& a, std::size_t size, std::size_t first, std::size_t last, std::size_t from,
                  std::size_t to) {
  const auto rows = rows_from<kDotRows>(a.data(), size, first, last);
  for (std::size_t lanes = from; lanes < to; lanes += kDotLanes) {
    const std::size_t end = std::min(lanes + kDotLanes, to);
    for (std::size_t j = lanes; j < end; j += kDotColumns) {
      const Dots totals = dots(rows, rows_from<kDotColumns>(a.data(), size, j, end), lanes);
      for (std::size_t row = 0; row < last - first; ++row) {
        float* own = a.data() + (first + row) * size;
        for (std::size_t c = j; c < std::min(j + kDotColumns, end); ++c) {
          const float* above = a.data() + c * size;
          const double sum = added_tail(totals[row][c - j], own, above, lanes, c);
          own[c] = static_cast<float>((static_cast<double>(own[c]) - sum) / static_cast<double>(above[c]));
        }
      }
    }
  }
}

/// The lower half of `a` becomes L, a = L L^T. False when `a` is not positive definite.
bool factorize(std::vector<float>& a, std::size_t size, std::size_t threads) {
  for (std::size_t from = 0; from < size; from += kPanel) {
    const std::size_t to = std::min(from + kPanel, size);
    for (std::size_t i = from; i < to; ++i) {
      make_columns(a, size, i, i + 1, from, i);
      float* row = a.data() + i * size;
      const std::size_t whole = whole_lanes(i);
      const double square = dots({row, row}, {row, row, row, row}, whole)[0][0];
      const double pivot = static_cast<double>(row[i]) - added_tail(square, row, row, whole, i);
      if (!(pivot > 0) || !std::isfinite(pivot)) return false;
      row[i] = static_cast<float>(std::sqrt(pivot));
    }
    const auto below = [&](std::size_t part) {
      const std::size_t end = std::min(to + (part + 1) * kRowsOfOne, size);
      for (std::size_t i = to + part * kRowsOfOne; i < end; i += kDotRows) {
        make_columns(a, size, i, std::min(i + kDotRows, end), from, to);
      }
      return true;
    };
    const bool small = (size - to) * to < kFewProducts;
    parallel_ordered((size - to + kRowsOfOne - 1) / kRowsOfOne, small ? 1 : threads, below,
                     [](std::size_t, bool) { return true; });
  }
  return true;
}

/// Of one group: the order in which inputs stand, rounded from the last to the first, and L^T of their products.
struct Factor {
  std::vector<std::size_t> order;
  std::vector<float> transposed;
};

std::optional<Factor> factor_of(const InputProducts& products, std::size_t group, double least, std::size_t threads) {
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
    if (!factorize(a, size, threads)) continue;
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
  const std::size_t parts = (per_group + kResultsTogether - 1) / kResultsTogether;
  const std::size_t whole = whole_lanes(size);
  const auto energies = [&](std::size_t index) {
    const std::size_t group = index / parts;
    const std::size_t first = group * per_group + index % parts * kResultsTogether;
    const std::size_t width = std::min(kResultsTogether, (group + 1) * per_group - first);
    std::vector<float> off(width * size);
    for (std::size_t m = 0; m < width; ++m) {
      for (std::size_t k = 0; k < size; ++k) {
        const std::size_t at = (first + m) * layout.of_result + k * layout.of_input;
        off[m * size + k] = values[at] - rounded[at];
      }
    }
    const float* sums = products.sums.data() + group * size * size;
    std::vector<double> own(width);
    for (std::size_t k = 0; k < size; k += kDotRows) {
      const auto rows = rows_from<kDotRows>(sums, size, k, size);
      for (std::size_t m = 0; m < width; m += kDotColumns) {
        const auto columns = rows_from<kDotColumns>(off.data(), size, m, width);
        const Dots totals = dots(rows, columns, whole);
        for (std::size_t c = 0; c < std::min(kDotColumns, width - m); ++c) {
          for (std::size_t r = 0; r < std::min(kDotRows, size - k); ++r) {
            const float error = columns[c][k + r];
            if (error == 0) continue;
            own[m + c] += static_cast<double>(error) * added_tail(totals[r][c], rows[r], columns[c], whole, size);
          }
        }
      }
    }
    return own;
  };
  double energy = 0;
  parallel_ordered(products.groups * parts, threads, energies, [&](std::size_t, const std::vector<double>& own) {
    for (const double one : own) energy += one;
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
  const std::size_t parts = (per_group + kResultsTogether - 1) / kResultsTogether;
  const ValueGrids grids(grid, weight.shape());
  const std::span<const float> values = weight.floats();
  std::vector<float> rounded(count);
  for (std::size_t group = 0; group < products.groups; ++group) {
    const std::optional<Factor> factor = factor_of(products, group, damping, threads);
    if (!factor) return std::nullopt;
    const auto round_part = [&](std::size_t part) {
      const std::size_t first = group * per_group + part * kResultsTogether;
      const std::size_t width = std::min(kResultsTogether, per_group - part * kResultsTogether);
      std::vector<float> errors(size * kResultsTogether);  // d, [K, results]
      std::array<float, kResultsTogether> wanted{};
      std::array<float, kResultsTogether> got{};
      QuantParams column = grid;
      column.block = 0;
      column.axis = 0;
      column.scale.resize(width);
      if (!column.zero_point.empty()) column.zero_point.resize(width);
      for (std::size_t j = size; j-- > 0;) {
        const float* row = factor->transposed.data() + j * size;
        run_shared_errors(row + j + 1, errors.data() + (j + 1) * kResultsTogether, size - j - 1, wanted);
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
          errors[j * kResultsTogether + m] = values[at] - got[m];
        }
      }
      return true;
    };
    parallel_ordered(parts, threads, round_part, [](std::size_t, bool) { return true; });
  }
  return rounded;
}

}  // namespace vernier
