#include "jobs/data_check/norm_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace vernier {
namespace {

constexpr std::size_t kMostNorms = 8;

}  // namespace

std::vector<TrainedNorm> first_norms(const Model& model) {
  std::vector<TrainedNorm> norms;
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    if (norms.size() == kMostNorms) break;
    if (node.op_type() != "BatchNormalization" || node.input_size() < 5) continue;
    const auto mean = initializer(model, node.input(3)), variance = initializer(model, node.input(4));
    if (!mean || !variance || mean->dtype() != Dtype::Float32 || variance->dtype() != Dtype::Float32 ||
        mean->count() != variance->count()) {
      continue;
    }
    TrainedNorm norm{node.name(), node.input(0), {}, {}, 1e-5F};
    norm.mean.assign(mean->floats().begin(), mean->floats().end());
    norm.variance.assign(variance->floats().begin(), variance->floats().end());
    if (const auto* epsilon = find_attribute(node, "epsilon")) norm.epsilon = epsilon->f();
    norms.push_back(std::move(norm));
  }
  return norms;
}

void fold_channels(const Tensor& tensor, std::vector<ChannelMoments>& channels, std::size_t axis) {
  const Shape& shape = tensor.shape();
  if (shape.size() <= axis || tensor.dtype() != Dtype::Float32) return;
  std::int64_t inner = 1;
  for (std::size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  channels.resize(static_cast<std::size_t>(shape[axis]));
  const std::span<const float> values = tensor.floats();
  const auto run = static_cast<std::size_t>(inner);
  for (std::size_t first = 0, c = 0; first < values.size(); first += run, c = (c + 1) % channels.size()) {
    ChannelMoments moments = channels[c];
    for (const float value : values.subspan(first, run)) moments.add(value);
    channels[c] = moments;
  }
}

SeenNorm compared_with(const TrainedNorm& norm, const std::vector<ChannelMoments>& seen) {
  SeenNorm result{norm.node, 0, 0, 0};
  std::size_t used = 0;
  for (std::size_t c = 0; c < std::min(seen.size(), norm.mean.size()); ++c) {
    const double trained = std::sqrt(std::max(0.0F, norm.variance[c]) + norm.epsilon);
    const double got = std::max(seen[c].deviation(), 1e-3 * trained);
    if (!std::isfinite(got) || seen[c].count == 0) continue;
    const double shift = (seen[c].mean() - norm.mean[c]) / trained;
    const double ratio = got / trained;
    result.shift += std::abs(shift);
    result.ratio += std::log(ratio);
    // Divergence of N(seen) from N(trained): 1/2 (r^2 + shift^2 - 1) - log r.
    result.misfit += 0.5 * (ratio * ratio + shift * shift - 1) - std::log(ratio);
    ++used;
  }
  const auto n = static_cast<double>(std::max<std::size_t>(used, 1));
  result.shift /= n;
  result.ratio = std::exp(result.ratio / n);
  result.misfit /= n;
  return result;
}

}  // namespace vernier
