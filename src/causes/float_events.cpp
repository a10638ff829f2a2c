// Values that float16 and bfloat16 cannot hold: too large, also inside an operator, too small, or whole numbers with
// too many digits.
#include <algorithm>

#include "causes/cause.h"

namespace vernier::causes {
namespace {

const TensorFacts* largest(const std::vector<TensorFacts>& tensors) {
  const auto found = std::ranges::max_element(
      tensors, {}, [](const TensorFacts& tensor) { return tensor.mask ? 0.0F : tensor.values.absmax(); });
  return found == tensors.end() ? nullptr : &*found;
}

/// Bins are narrower than 1 up to 512: a tensor of whole numbers has none there that does not begin at one.
bool holds_whole_numbers(const Distribution& values) {
  std::size_t whole = 0;
  for (const Bin& bin : values.bins) {
    const double low = std::min(std::abs(static_cast<double>(bin.low)), std::abs(static_cast<double>(bin.high)));
    if (low >= 512) continue;
    if (std::floor(low) != low) return false;
    ++whole;
  }
  return whole >= 16;
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

}  // namespace

Finding overflow(const LayerFacts& layer) {
  if (!is_narrow_float(layer) || layer.overflowed == 0) return {};
  const double limit = largest_of(layer.format);
  const TensorFacts* in = largest(layer.inputs);
  const TensorFacts* out = largest(layer.outputs);
  // What arrives too large is made too large by a layer before: that one is named. Constants are this layer's own.
  const double made = out == nullptr ? 0 : static_cast<double>(out->values.absmax());
  const bool own_constant = in != nullptr && in->constant && static_cast<double>(in->values.absmax()) > limit;
  if (made <= limit && !own_constant) return {};
  const TensorFacts& tensor = made > limit ? *out : *in;
  const auto most = static_cast<double>(tensor.values.absmax());
  return of(layer, tensor.name, 0.95,
            {{"largest magnitude", most, ""},
             {"largest of the format", limit, ""},
             {"values beyond", static_cast<double>(layer.overflowed), ""}},
            fmt::format("'{}' reaches {:.4g}, {} ends at {:g}: {} become infinite", printable(tensor.name), most,
                        format_name(layer.format), limit, plural(static_cast<std::size_t>(layer.overflowed), "value")),
            {"scale-square"});
}

Finding overflow_inside(const LayerFacts& layer) {
  if (!is_float16(layer)) return {};
  const TensorFacts* in = activation_of(layer);
  if (in == nullptr || in->values.empty()) return {};
  const auto x = static_cast<double>(in->values.absmax());
  const double inside = largest_inside(layer, x);
  if (inside <= largest_of(layer.format) || x > largest_of(layer.format)) return {};
  return of(layer, in->name, 0.7, {{"largest magnitude", x, ""}, {"largest inside", inside, ""}},
            fmt::format("computes values up to {:.3g} inside ({} of inputs up to {:.4g}); an engine that does so in "
                        "float16 gets infinities",
                        inside, layer.op_type == "Softplus" ? "exp" : "squares", x),
            {"scale-square"});
}

Finding subnormal_loss(const LayerFacts& layer) {
  if (!is_float16(layer) || layer.rounded == 0) return {};
  const double lost = static_cast<double>(layer.flushed) / static_cast<double>(layer.rounded);
  const double small = static_cast<double>(layer.subnormal) / static_cast<double>(layer.rounded);
  if (lost + small < 0.01 || layer.own_noise < 1e-5) return {};  // few, or they do not matter: 50 dB
  const TensorFacts* worst = nullptr;
  for (const auto* tensors : {&layer.inputs, &layer.outputs}) {
    for (const TensorFacts& tensor : *tensors) {
      if (tensor.values.empty() || tensor.values.absmax() == 0) continue;
      if (worst == nullptr || tensor.values.absmax() < worst->values.absmax()) worst = &tensor;
    }
  }
  if (worst == nullptr) return {};
  const auto most = static_cast<double>(worst->values.absmax());
  return of(
      layer, worst->name, lost > 0.5 || most < 6.1e-5 ? 0.9 : 0.7,
      {{"turned to zero", 100 * lost, "%"},
       {"below the smallest normal", 100 * small, "%"},
       {"largest magnitude", most, ""}},
      fmt::format("{:.0f} percent of its values become zero and {:.0f} percent lose digits: they are below 6.1e-5, "
                  "the smallest normal float16 ('{}' reaches {:.3g} only)",
                  100 * lost, 100 * small, printable(worst->name), most),
      {});
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
                fmt::format("'{}' holds whole numbers up to {:g}; {} knows them all up to {:g} only",
                            printable(tensor.name), tensor.values.absmax(), format_name(layer.format), exact),
                {});
    }
  }
  return {};
}

}  // namespace vernier::causes
