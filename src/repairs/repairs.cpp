#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/graph_edit.h"
#include "repairs/repair.h"
#include "repairs/repair_texts.h"

namespace vernier {
namespace {

// Exact rewrites of the float model come before grids, which depend on its ranges; biases come last, because every
// other repair changes the mean error. A stream comes before the norms that read it: one operator for a norm in pieces
// keeps its squares inside the format only if what it reads is inside.
const std::vector<Repair>& table() {
  static const std::vector<Repair> kRepairs = {
      {.id = "clamp-mask",
       .text = "a mask constant beyond the format becomes a value that the Softmax still turns into 0",
       .scaled = false,
       .propose = clamp_masks},
      {.id = "scale-stream",
       .text = "a residual stream beyond the format is stored times a power of two, which its norms divide out",
       .cost = "none; one Mul if a layer outside the blocks computes or reads the stream",
       .scaled = false,
       .propose = scale_streams},
      {.id = "fuse-norm",
       .text = "a LayerNorm or RMS norm in pieces becomes one operator, which engines compute in FP32",
       .cost = "none; often less, as one operator replaces several",
       .scaled = false,
       .rounds = 2,
       .propose = fuse_norms},
      {.id = "fuse-gelu",
       .text = "a GELU in pieces becomes one operator, which engines compute in FP32",
       .cost = "none; often less, as one operator replaces several",
       .scaled = false,
       .propose = fuse_gelus},
      {.id = "stable-form",
       .text = "logarithms and ratios of exponentials are computed from exponentials up to 1, or by one operator",
       .cost = "at most three small operators for each place; less if one operator replaces several",
       .scaled = false,
       .propose = stable_forms},
      {.id = "centre-stream",
       .text = "the mean that norms subtract from a tensor is removed from the weights or the bias that compute it",
       .scaled = false,
       .rounds = 2,
       .propose = centre_streams},
      {.id = "raise-epsilon",
       .text = "an epsilon that the format rounds to 0 becomes 2^-24, or 2^-15 under a plain division",
       .scaled = false,
       .propose = raise_epsilons},
      {.id = "scale-square",
       .text = "squares, products, sums and logarithms use values scaled by a power of two, so that they stay inside "
               "the format",
       .cost = "up to two Mul for each place",
       .scaled = false,
       .needs_noise = true,
       .rounds = 3,
       .propose = scale_squares},
      {.id = "clip-cube",
       .text = "the tanh of a GELU in pieces uses clipped values, so that their cube stays inside the format",
       .cost = "one Clip for each GELU",
       .scaled = false,
       .propose = clip_cubes},
      {.id = "scale-attention",
       .text = "the power of two in the scale after Q K^T moves before it",
       .cost = "none, or one Mul instead of another",
       .scaled = false,
       .propose = scale_attentions},
      {.id = "weight-grid",
       .text = "weights from quantization-aware training are quantized to their own scale",
       .propose = recover_weight_grid},
      {.id = "weight-zero-point",
       .text = "weights that reach farther on one side of zero get a zero point, if the target supports it",
       .cost = "depthwise kernels of ONNX Runtime get slower",
       .propose = move_weight_zeros},
      {.id = "per-channel",
       .text = "one scale for each output channel of a weight, although ‹per-tensor› asked for a single one; only with "
               "‹allow›",
       .when_asked = true,
       .propose = scales_per_channel},
      {.id = "equalize",
       .text = "cross-layer equalization: channels of two consecutive layers are scaled against each other",
       .propose = cross_layer_equalization},
      {.id = "smooth",
       .text = "SmoothQuant: large channels of an activation are scaled down, and the weights that read them are "
               "scaled up; "
               "queries and keys are scaled against each other",
       .needs_noise = true,
       .needs_channels = true,
       .rounds = 2,
       .propose = smooth_quant},
      {.id = "rotate-stream",
       .text = "an orthogonal matrix, folded into the weights, spreads large channels of the residual stream over all",
       .cost = "none; one extra product if a layer outside the blocks computes or reads the stream",
       .propose = rotate_streams},
      {.id = "unfold-norm",
       .text =
           "the factors of a BatchNormalization are removed from a weight again, if its output channels share a scale",
       .cost = "one Mul for each layer",
       .propose = unfold_norms},
      {.id = "split-channels",
       .text = "outlier channel splitting: channels that set the scale for all others are doubled and halved",
       .cost = "at most one extra channel in 20",
       .needs_noise = true,
       .needs_channels = true,
       .rounds = 2,
       .propose = outlier_channel_splitting},
      {.id = "range",
       .text = "a few large values are clipped, by least squared error or percentile, so that the others keep more "
               "digits; a range that clips many values is widened",
       .rounds = 3,
       .propose = swap_ranges},
      {.id = "round-weights",
       .text = "GPTQ: weights are rounded one after the other, each compensating for those before",
       .needs_weight_share = true,
       .propose = gptq_rounding},
      {.id = "bias-correction",
       .text = "the mean error of each output channel is subtracted from the bias",
       .needs_bias_error = true,
       .adds_up = true,
       .propose = correct_biases},
  };
  return kRepairs;
}

}  // namespace

std::span<const Repair> all_repairs() { return table(); }

std::optional<std::string> repair_text(std::string_view id) {
  if (id == "keep-high") {
    return "the layer stays in the high format. This answers every cause if no repair is enough. Cost at run time: "
           "that of the high format";
  }
  const auto found = std::ranges::find(table(), id, &Repair::id);
  if (found == table().end()) return std::nullopt;
  return fmt::format("{}; cost at run time: {}", found->text, found->cost);
}

const onnx::NodeProto* Network::node(const std::string& layer) const { return find_node(model.proto.graph(), layer); }

}  // namespace vernier
