#include "jobs/diagnose/other_weights.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "numerics/tensor_grid.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Whether `given` is `original` but for values that a range is too narrow for: of the tensor, or along one of its
/// first two dimensions.
bool is_clipped(const Tensor& given, const Tensor& original) {
  constexpr double kStep = 0.05, kInside = 0.9, kSame = 0.9;
  const std::span<const float> held = given.floats(), wanted = original.floats();
  for (int axis = -1; axis < std::min<int>(2, static_cast<int>(given.shape().size())); ++axis) {
    const AxisGeometry along = axis < 0 ? AxisGeometry{} : geometry_along(given.shape(), axis);
    const auto channel = [&](std::size_t i) {
      return axis < 0 ? 0 : i / static_cast<std::size_t>(along.inner) % static_cast<std::size_t>(along.channels);
    };
    std::vector<double> ends(axis < 0 ? 1 : static_cast<std::size_t>(along.channels), 0);
    for (std::size_t i = 0; i < held.size(); ++i) {
      ends[channel(i)] = std::max(ends[channel(i)], static_cast<double>(std::abs(held[i])));
    }
    std::size_t inside = 0, same = 0;
    for (std::size_t i = 0; i < held.size(); ++i) {
      const double end = ends[channel(i)];
      if (static_cast<double>(std::abs(wanted[i])) > kInside * end) continue;
      ++inside;
      same += static_cast<double>(std::abs(held[i] - wanted[i])) <= kStep * end ? 1 : 0;
    }
    if (inside > held.size() / 20 && static_cast<double>(same) >= kSame * static_cast<double>(inside)) return true;
  }
  return false;
}

}  // namespace

bool is_other_weight(const Model& file, const std::string& held, const Model& network, const std::string& wanted) {
  constexpr double kRest = 0.1;  // of the energy, twice what 4 bits leave
  const auto given = initializer(file, held), original = initializer(network, wanted);
  if (!given || !original || given->shape() != original->shape()) return false;
  if (given->dtype() != Dtype::Float32 || original->dtype() != Dtype::Float32) return false;
  const Shape& shape = given->shape();
  // A square weight of a product may stand the other way.
  const std::size_t columns = shape.size() == 2 && shape[0] == shape[1] ? static_cast<std::size_t>(shape[1]) : 0;
  double product = 0, turned = 0, of_given = 0, of_original = 0;
  for (std::size_t i = 0; i < given->floats().size(); ++i) {
    const double a = given->floats()[i], b = original->floats()[i];
    product += a * b;
    if (columns > 0) turned += a * static_cast<double>(original->floats()[i % columns * columns + i / columns]);
    of_given += a * a;
    of_original += b * b;
  }
  const double alike = std::max(product * product, turned * turned);
  const bool other = of_given > 0 && of_original > 0 && alike < (1 - kRest) * of_given * of_original;
  return other && !is_clipped(*given, *original);
}

}  // namespace vernier
