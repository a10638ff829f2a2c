#include <span>
#include <string>
#include <vector>

#include "model/graph_edit.h"
#include "repairs/repair.h"

namespace vernier {
namespace {

// Exact rewrites of the float model come before grids, which depend on its ranges; biases come last, because every
// other repair changes the mean error.
const std::vector<Repair>& table() {
  static const std::vector<Repair> kRepairs = {
      {.id = "clamp-mask",
       .text = "a mask constant beyond the format becomes one inside it that softmax still turns into 0",
       .scaled = false,
       .propose = clamp_masks},
      {.id = "fuse-norm",
       .text = "a LayerNorm or RMS norm in pieces becomes the operator, which engines compute in float32",
       .scaled = false,
       .rounds = 2,
       .propose = fuse_norms},
      {.id = "fuse-gelu",
       .text = "a GELU in pieces becomes the operator, which engines compute in float32",
       .scaled = false,
       .propose = fuse_gelus},
      {.id = "raise-epsilon",
       .text = "an epsilon that the format turns into 0 becomes the smallest that it holds",
       .scaled = false,
       .propose = raise_epsilons},
      {.id = "scale-square",
       .text =
           "squares, sums and logarithms are taken of values that a power of two made smaller or larger, so that they "
           "stay inside the format",
       .scaled = false,
       .rounds = 3,
       .propose = scale_squares},
      {.id = "clip-cube",
       .text = "GELU's tanh is taken of values clipped to where it is 1, so that their cube stays inside the format",
       .scaled = false,
       .propose = clip_cubes},
      {.id = "scale-attention",
       .text = "the power of two in the scale behind Q K^T goes in front of it",
       .scaled = false,
       .propose = scale_attentions},
      {.id = "weight-grid",
       .text = "the grid of quantization-aware training: weights that lie on a grid already are quantized to it",
       .propose = recover_weight_grid},
      {.id = "weight-zero-point",
       .text = "asymmetric quantization of weights that reach farther on one side of zero, where the target takes it",
       .propose = move_weight_zeros},
      {.id = "per-channel",
       .text =
           "per-channel quantization: a scale for each output channel of a weight, where ‹per-tensor› asked for one; "
           "only with ‹allow›",
       .when_asked = true,
       .propose = scales_per_channel},
      {.id = "equalize",
       .text = "cross-layer equalization: channels of two layers in a row are scaled against each other until their "
               "weights have like ranges",
       .propose = cross_layer_equalization},
      {.id = "smooth",
       .text = "SmoothQuant: large channels of an activation are scaled down, and the weights that read them up",
       .rounds = 2,
       .propose = smooth_quant},
      {.id = "unfold-norm",
       .text = "the factors of a BatchNormalization that was folded into a weight go behind the layer again, where its "
               "output channels share a scale",
       .propose = unfold_norms},
      {.id = "split-channels",
       .text = "outlier channel splitting: channels that set the step for all others are made once more, and each copy "
               "carries a part",
       .rounds = 2,
       .propose = outlier_channel_splitting},
      {.id = "range",
       .text =
           "ranges by least squared error or percentile: a few large values are clipped, the others resolved better",
       .rounds = 3,
       .propose = swap_ranges},
      {.id = "round-weights",
       .text = "GPTQ: weights are rounded one after the other, each making up for the error of those before",
       .needs_weight_share = true,
       .propose = gptq_rounding},
      {.id = "bias-correction",
       .text = "bias correction: the mean error of each output channel is taken out of the bias",
       .needs_bias_error = true,
       .rounds = 2,
       .propose = correct_biases},
  };
  return kRepairs;
}

}  // namespace

std::span<const Repair> all_repairs() { return table(); }

const onnx::NodeProto* Network::node(const std::string& layer) const { return find_node(model.proto.graph(), layer); }

}  // namespace vernier
