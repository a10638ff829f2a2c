#include "jobs/diagnose/constant_facts.h"

#include <cmath>
#include <cstddef>
#include <vector>

#include "numerics/distribution.h"
#include "numerics/grid.h"
#include "numerics/lattice.h"
#include "numerics/tensor_grid.h"
#include "plan/weight_axis.h"
#include "vernier/tensor.h"

namespace vernier {

TensorFacts constant_facts(const Model& model, const Plan& plan, const std::string& name, const onnx::NodeProto& node,
                           bool weight) {
  TensorFacts tensor;
  tensor.name = name;
  tensor.constant = true;
  tensor.weight = weight;
  const Tensor value = *initializer(model, name);
  if (value.dtype() != Dtype::Float32) return tensor;
  ValueHistogram histogram;
  histogram.add(value.floats());
  tensor.infinite = histogram.range().nonfinite;
  tensor.values = distribution_of(histogram);
  if (!weight) tensor.mask = take_mask(tensor.values);
  // A mask of -inf, and one that is the whole constant, stand for "never" as well.
  if (!tensor.mask && !weight && (tensor.infinite > 0 || tensor.values.min < -kLargestFloat16)) {
    tensor.mask = Mask{tensor.infinite > 0 ? -INFINITY : tensor.values.min, tensor.values.min, value.count(), 0};
  }
  const auto grid = plan.tensors.find(name);
  if (grid == plan.tensors.end()) return tensor;
  tensor.grid = grid->second;
  if (!weight) return tensor;
  const int axis = weight_axis(node, static_cast<int>(value.shape().size()));
  QuantParams along;
  along.axis = axis;
  tensor.channels = absmax_of_scales(along, value.shape(), value.floats());
  if (const auto lattice = lattice_of(value.floats())) tensor.lattice = lattice->step;
  std::vector<float> rounded(value.floats().size());
  round_tensor(grid->second, value.shape(), value.floats(), rounded);
  const AxisGeometry geometry = geometry_along(value.shape(), axis);
  std::vector<double> noise(static_cast<std::size_t>(geometry.channels));
  std::vector<double> signal(noise.size());
  for (std::size_t i = 0; i < rounded.size(); ++i) {
    const std::size_t c = i / static_cast<std::size_t>(geometry.inner) % noise.size();
    noise[c] += std::pow(static_cast<double>(value.floats()[i]) - static_cast<double>(rounded[i]), 2);
    signal[c] += std::pow(static_cast<double>(value.floats()[i]), 2);
  }
  for (std::size_t c = 0; c < noise.size(); ++c) {
    if (signal[c] > 0) tensor.weight_noise.push_back(noise[c] / signal[c]);
  }
  return tensor;
}

}  // namespace vernier
