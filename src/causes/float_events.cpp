// Values that float16 and bfloat16 cannot hold: too large, also inside an operator, too small, whole numbers with too
// many digits, or angles of many turns.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "causes/cause.h"

namespace vernier::causes {
namespace {

const TensorFacts* largest(const std::vector<TensorFacts>& tensors) {
  const auto found = std::ranges::max_element(
      tensors, {}, [](const TensorFacts& tensor) { return tensor.mask ? 0.0F : tensor.values.absmax(); });
  return found == tensors.end() ? nullptr : &*found;
}

/// Bins are narrower than 1 up to 512: a tensor of whole numbers has none there that does not begin at one, which other
/// values do by chance, as often as their bin is wide.
bool holds_whole_numbers(const Distribution& values) {
  constexpr double kSure = 20;  // bits
  double whole = 0;
  for (const Bin& bin : values.bins) {
    const double low = std::min(std::abs(static_cast<double>(bin.low)), std::abs(static_cast<double>(bin.high)));
    if (low >= 512) continue;
    if (std::floor(low) != low) return false;
    const double width = static_cast<double>(bin.high) - static_cast<double>(bin.low);
    whole += width > 0 ? std::max(0.0, -std::log2(width)) : 8;
  }
  return whole >= kSure;
}

/// What an operator computes on its way, at most, from inputs up to `x`, `terms` of them; 0: nothing larger than its
/// inputs and its result.
double largest_inside(const LayerFacts& layer, double x) {
  const std::string& op = layer.op_type;
  const auto terms = static_cast<double>(layer.terms);
  if (op == "LayerNormalization" || op == "InstanceNormalization" || op == "ReduceL2" || op == "LpNormalization" ||
      op == "RMSNormalization" || op == "GroupNormalization") {
    return x * x;
  }
  if (op == "LogSumExp" || op == "ReduceLogSumExp" || op == "Softplus") return std::exp(std::min(x, 700.0));
  if (op == "ReduceSumSquare") return x * x * terms;
  return 0;
}

bool is_read_by(const LayerFacts& layer, std::string_view op_type) {
  return std::ranges::find(layer.read_by, op_type) != layer.read_by.end();
}

bool reads_from(const LayerFacts& layer, std::string_view op_type) {
  return std::ranges::find(layer.made_by, op_type) != layer.made_by.end();
}

/// The squares of a norm in pieces, the cube of a GELU, exponentials behind which a logarithm or a ratio follows, and
/// the logits of attention can be had without what is too large; for other results no rewrite is known here.
std::vector<std::string> rewrites_of(const LayerFacts& layer) {
  const bool adds = layer.op_type == "Add" || layer.op_type == "ReduceSum";
  const bool exponentials = layer.op_type == "Exp" ? is_read_by(layer, "Add") || is_read_by(layer, "ReduceSum")
                                                   : adds && reads_from(layer, "Exp");
  if (exponentials) return {"stable-form"};
  const bool squares = layer.op_type == "Pow" || layer.op_type == "Mul";
  if (layer.op_type == "ReduceSum" || layer.op_type == "ReduceSumSquare") return {"scale-square"};
  const bool averaged =
      std::ranges::any_of(layer.read_by, [](const std::string& op) { return op == "ReduceMean" || op == "ReduceSum"; });
  if (squares && averaged) return {"fuse-norm", "scale-square"};
  const bool cubes = layer.op_type == "Pow" && layer.inputs.size() > 1 && layer.inputs[1].values.max == 3;
  if (cubes) return {"fuse-gelu", "clip-cube"};
  const bool scaled =
      std::ranges::any_of(layer.read_by, [](const std::string& op) { return op == "Mul" || op == "Div"; });
  if (layer.op_type == "MatMul" && weight_of(layer) == nullptr && scaled) return {"scale-attention"};
  const bool adds_up = layer.op_type == "Add" || layer.op_type == "MatMul" || layer.op_type == "Gemm";
  if (adds_up) return {"scale-stream"};
  return {};
}

/// What is too large is a mask that this layer only passes on: that is a cause of its own.
bool only_passes_mask(const LayerFacts& layer, double largest) {
  return std::ranges::any_of(layer.inputs, [&](const TensorFacts& input) {
    return input.constant && input.mask &&
           largest <= static_cast<double>(std::max(std::abs(input.mask->low), std::abs(input.mask->high)));
  });
}

/// Of all values, those that are no zeros and below the smallest normal float16.
double share_below_normal(const Distribution& values) {
  std::int64_t below = 0;
  for (const Bin& bin : values.bins) {
    const double middle = std::abs(static_cast<double>(bin.middle()));
    if (middle > 0 && middle < kSmallestNormal) below += bin.count;
  }
  return values.count == 0 ? 0 : static_cast<double>(below) / static_cast<double>(values.count);
}

/// Noise over signal that the loss of digits below the smallest normal float16 makes in a tensor.
double noise_below_normal(const Distribution& values) {
  constexpr double kStep = 0x1p-24;  // between neighbours there
  double noise = 0;
  for (const Bin& bin : values.bins) {
    const double middle = std::abs(static_cast<double>(bin.middle()));
    if (middle < kSmallestNormal)
      noise += static_cast<double>(bin.count) * std::min(middle * middle, kStep * kStep / 12);
  }
  const double energy = energy_of(values);
  return energy > 0 ? noise / energy : 0;
}

/// Small values of what these read are large in their result.
bool magnifies_small(const LayerFacts& layer) {
  return std::ranges::any_of(std::array{"Log", "Div", "Reciprocal", "Sqrt", "Pow", "LogSoftmax"},
                             [&](const char* op) { return layer.op_type == op; });
}

/// The digits that are lost below the smallest normal make a tenth of the layer's own error, or may do so.
bool explains_own_noise(const LayerFacts& layer, const TensorFacts& lossy, bool is_input) {
  if (!std::isfinite(layer.own_noise) || (is_input && magnifies_small(layer))) return true;
  return noise_below_normal(lossy.values) >= 0.1 * layer.own_noise;
}

/// Squares, and what a logarithm or a root is taken of, can be computed with values that a power of two made larger,
/// and the logarithm of a Softmax without it.
std::vector<std::string> rewrites_of_small(const LayerFacts& layer) {
  const bool of_softmax =
      layer.op_type == "Log" ? reads_from(layer, "Softmax") : layer.op_type == "Softmax" && is_read_by(layer, "Log");
  if (of_softmax) return {"stable-form"};
  const auto ends = [](const std::string& op) { return op == "Log" || op == "Sqrt"; };
  const bool scales = ends(layer.op_type) || layer.op_type == "Pow" ||
                      (layer.op_type == "Mul" && layer.inputs.size() == 1) || std::ranges::any_of(layer.read_by, ends);
  return scales ? std::vector<std::string>{"scale-square"} : std::vector<std::string>{};
}

std::string percent(double share) {
  return share < 0.1 ? fmt::format("{:.1g}", 100 * share) : fmt::format("{:.0f}", 100 * share);
}

const char* what_follows(const LayerFacts& layer) {
  return layer.op_type == "Log" ? ". The logarithm of 0 is -inf" : ". Its result is not finite";
}

std::string beyond_text(std::int64_t values) {
  return plural(static_cast<std::size_t>(values), "value") + " of all samples" + (values == 1 ? " becomes" : " become");
}

}  // namespace

Finding overflow(const LayerFacts& layer) {
  if (!is_narrow_float(layer) || layer.overflowed == 0 || residual_overflow(layer)) return {};
  const double limit = largest_of(layer.format);
  const TensorFacts* in = largest(layer.inputs);
  const TensorFacts* out = largest(layer.outputs);
  // What arrives too large is made too large by a layer before: that one is named. Constants are this layer's own.
  const double made = out == nullptr ? 0 : static_cast<double>(out->values.absmax());
  const bool own_constant = in != nullptr && in->constant && static_cast<double>(in->values.absmax()) > limit;
  if (made <= limit && !own_constant) return {};
  if (only_passes_mask(layer, made) || added_masks(layer)) return {};
  const TensorFacts& tensor = made > limit ? *out : *in;
  const auto most = static_cast<double>(tensor.values.absmax());
  return of(layer, tensor.name, 0.95,
            {{"largest magnitude", most, ""},
             {"largest of the format", limit, ""},
             {"values beyond", static_cast<double>(layer.overflowed), ""}},
            fmt::format("'{}' reaches {:.4g}, beyond the {} limit of {:g}: {} infinite.", printable(tensor.name), most,
                        format_title(layer.format), limit, beyond_text(layer.overflowed)),
            rewrites_of(layer));
}

Finding overflow_read(const LayerFacts& layer) {
  if (!is_narrow_float(layer) || layer.overflowed == 0 || overflow(layer) || residual_overflow(layer)) return {};
  const double limit = largest_of(layer.format);
  for (const TensorFacts& input : layer.inputs) {
    const auto most = static_cast<double>(input.values.absmax());
    if (input.constant || input.mask || most <= limit) continue;
    const std::string made =
        input.maker.empty() || input.maker == input.name ? "" : " (from '" + printable(input.maker) + "')";
    return of(layer, input.name, 0.9, {{"largest magnitude", most, ""}, {"largest of the format", limit, ""}},
              fmt::format("its input '{}'{} reaches {:.4g}, beyond the {} limit of {:g}. Each layer that reads it gets "
                          "infinity, unless the tensor stays in FP32 or a repair scales it.",
                          printable(input.name), made, most, format_title(layer.format), limit),
              {});
  }
  return {};
}

Finding overflow_inside(const LayerFacts& layer) {
  if (!is_float16(layer)) return {};
  const TensorFacts* in = activation_of(layer);
  if (in == nullptr || in->values.empty()) return {};
  const auto x = static_cast<double>(in->values.absmax());
  const double inside = largest_inside(layer, x);
  const bool exponential = layer.op_type == "Softplus" || layer.op_type.ends_with("LogSumExp");
  if (inside <= largest_of(layer.format) || x > largest_of(layer.format)) return {};
  return of(layer, in->name, 0.7, {{"largest magnitude", x, ""}, {"largest inside", inside, ""}},
            fmt::format("computes values up to {:.3g} inside ({} of inputs up to {:.4g}). An engine that does this in "
                        "FP16 gets infinities.",
                        inside, exponential ? "exp" : "squares", x),
            exponential ? std::vector<std::string>{} : std::vector<std::string>{"scale-square"});
}

Finding subnormal_loss(const LayerFacts& layer) {
  if (!is_float16(layer) || layer.rounded == 0) return {};
  const double lost = static_cast<double>(layer.flushed) / static_cast<double>(layer.rounded);
  const double small = static_cast<double>(layer.subnormal) / static_cast<double>(layer.rounded);
  // A single zero is enough for a logarithm or a division.
  const bool divides = !std::isfinite(layer.own_noise) && layer.flushed > 0 && layer.overflowed == 0;
  if (!divides && lost + small < 0.01) return {};  // few
  // They do not matter for this layer, nor for what lies behind.
  constexpr double kHarmless = 1e-5;  // 50 dB
  if (std::max(layer.own_noise, layer.effect_noise.value_or(0)) < kHarmless) return {};
  // Where the layer's own result is fine, what lies behind magnifies what was lost.
  const bool own = layer.own_noise >= kHarmless;
  const TensorFacts* worst = nullptr;
  double worst_share = 0;
  for (const auto* tensors : {&layer.inputs, &layer.outputs}) {
    for (const TensorFacts& tensor : *tensors) {
      const double share = tensor.constant ? 0 : share_below_normal(tensor.values);
      if (share <= worst_share) continue;
      if (own && !divides && !explains_own_noise(layer, tensor, tensors == &layer.inputs)) continue;
      worst_share = share;
      worst = &tensor;
    }
  }
  if (worst == nullptr) return {};
  const auto most = static_cast<double>(worst->values.absmax());
  const bool sure = lost > 0.5 || most < kSmallestNormal || divides;
  return of(layer, worst->name, sure ? 0.9 : 0.7,
            {{"became zero", 100 * lost, "%"},
             {"below the smallest normal", 100 * small, "%"},
             {"largest magnitude", most, ""}},
            fmt::format("{} % of its input and output values become zero, {} % lose digits. {} % of '{}', which "
                        "reaches {:.3g}, are below 6.1e-5, the smallest normal FP16 value{}.",
                        percent(lost), percent(small), percent(worst_share), printable(worst->name), most,
                        divides ? what_follows(layer) : ""),
            rewrites_of_small(layer));
}

Finding large_integers(const LayerFacts& layer) {
  if (!is_narrow_float(layer) || layer.own_noise < 1e-9) return {};
  const double exact = 2 / epsilon_of(layer.format);  // 2048, 256: whole numbers up to here are exact
  for (const auto* tensors : {&layer.inputs, &layer.outputs}) {
    for (const TensorFacts& tensor : *tensors) {
      if (tensor.values.empty() || static_cast<double>(tensor.values.absmax()) <= exact) continue;
      if (!holds_whole_numbers(tensor.values)) continue;
      return of(layer, tensor.name, 0.75,
                {{"largest whole number", static_cast<double>(tensor.values.absmax()), ""}, {"exact up to", exact, ""}},
                fmt::format("'{}' holds whole numbers up to {:g}. {} represents them exactly only up to {:g}.",
                            printable(tensor.name), tensor.values.absmax(), format_title(layer.format), exact),
                {});
    }
  }
  return {};
}

namespace {

/// Of a layer that is quantized: the error that a good figure stands for is one of turns in the angles behind it.
Finding quantized_phase(const LayerFacts& layer) {
  if (!layer.angle_rms || layer.effect_noise.value_or(0) < kPoorNoise || !std::isfinite(layer.own_noise)) return {};
  const double off = std::sqrt(layer.own_noise) * *layer.angle_rms;
  if (off < 0.1) return {};
  return of(
      layer, layer.outputs.empty() ? std::string() : layer.outputs.front().name, off > 0.5 ? 0.9 : 0.75,
      {{"typical angle", *layer.angle_rms, "radians"}, {"off by", off, "radians"}},
      fmt::format("its output becomes angles of about {:.4g} radians for a sine or cosine, where {:.1f} dB are {:.2g} "
                  "radians of error. Keep it in FP32 up to the sine or cosine, or reduce the angle to one turn.",
                  *layer.angle_rms, db_of(layer.own_noise), off),
      {});
}

}  // namespace

Finding large_phase(const LayerFacts& layer) {
  if (is_scaled(layer)) return quantized_phase(layer);
  if (!is_narrow_float(layer)) return {};
  const bool takes = layer.op_type == "Sin" || layer.op_type == "Cos";
  if (!takes && layer.angle_of.empty()) return {};
  const TensorFacts* angle = takes ? activation_of(layer) : layer.outputs.empty() ? nullptr : &layer.outputs.front();
  const double harm = takes ? layer.own_noise : layer.effect_noise.value_or(0);
  if (angle == nullptr || angle->values.empty() || harm < 1e-5) return {};
  const auto most = static_cast<double>(angle->values.absmax());
  constexpr double kTurn = 6.283185307179586;
  const double off = most * epsilon_of(layer.format) / 2;  // at most, in radians: half the distance of neighbours
  if (off < 0.05 || most > largest_of(layer.format)) return {};
  const std::string function = (takes ? layer.op_type : layer.angle_of) == "Sin" ? "sine" : "cosine";
  return of(layer, angle->name, off > 0.3 ? 0.9 : 0.75,
            {{"largest angle", most, "radians"}, {"rounded by up to", off, "radians"}},
            fmt::format("{} of angles up to {:.4g}, {:.0f} turns. In {} they are off by up to {:.2g} radians. {}",
                        takes ? "takes the " + function : "makes '" + printable(angle->name) + "' for the " + function,
                        most, most / kTurn, format_title(layer.format), off,
                        takes ? "Compute the angle in FP32 too, or reduce it to one turn first."
                              : "Keep it in FP32 up to the sine or cosine, or reduce it to one turn."),
            {});
}

}  // namespace vernier::causes
