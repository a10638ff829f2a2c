#include "jobs/debug/other_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

#include "base/text.h"
#include "jobs/debug/expansions.h"
#include "model/onnx_runtime_operators.h"
#include "model/operator_traits.h"
#include "numerics/metrics.h"
#include "numerics/round.h"
#include "plan/round_node.h"
#include "vernier/format.h"

namespace vernier {
namespace {

using Nodes = OtherConstants::Nodes;

bool values_differ(std::span<const float> wanted, std::span<const float> held, bool any) {
  constexpr float kRounded = 0.005F;  // bfloat16 rounds to 0.0039
  if (wanted.size() != held.size()) return true;
  if (any) {
    return !std::ranges::equal(
        wanted, held, [](float was, float is) { return was == is || std::abs(was - is) <= kRounded * std::abs(was); });
  }
  ErrorStats error;
  accumulate_error(wanted, held, error);
  return sqnr_db(error) < kSameDb;
}

/// The format that rounds what is wanted to what is held; nullopt: neither of these two.
std::optional<Format> rounding_between(std::span<const float> wanted, std::span<const float> held) {
  if (wanted.size() != held.size()) return std::nullopt;
  for (const Format format : {Format::Float16, Format::BFloat16}) {
    std::vector<float> rounded(wanted.size());
    QuantParams params;
    params.format = format;
    round_to(params, wanted, rounded);
    if (std::ranges::equal(rounded, held)) return format;
  }
  return std::nullopt;
}

/// A constant that a layer adds: of a product its own, or that of an Add behind it.
struct Bias {
  const onnx::NodeProto* node = nullptr;
  std::string constant;  // empty: a BatchNormalization, which adds one as well
};

std::optional<Bias> bias_in(const Model& model, const Nodes& nodes) {
  for (const onnx::NodeProto* node : nodes) {
    if (node->op_type() == "BatchNormalization") return Bias{node, {}};
    const bool adds = has(*node, Trait::Weighted) || is_norm(*node) || is_onnx_runtime(*node, "FusedConv");
    if (adds && node->input_size() > 2 && is_initializer(model, node->input(2))) return Bias{node, node->input(2)};
    const int fused = is_onnx_runtime(*node, "SkipLayerNormalization") ? 4 : 1;
    const bool adds_inside = fused == 4 || is_onnx_runtime(*node, "BiasGelu") || is_onnx_runtime(*node, "FastGelu");
    if (adds_inside && node->input_size() > fused && is_initializer(model, node->input(fused))) {
      return Bias{node, node->input(fused)};
    }
    if ((!is_onnx(*node, "Add") && !is_onnx(*node, "Sub")) || node->input_size() != 2) continue;
    for (const std::string& input : node->input()) {
      if (is_initializer(model, input)) return Bias{node, input};
    }
  }
  return std::nullopt;
}

/// What a normalization multiplies with, and what it adds behind that: inputs of the operator, or of the pieces.
struct NormConstants {
  std::optional<Bias> scale, shift;
  bool in_pieces = true;
};

NormConstants norm_constants_in(const Model& model, const Nodes& nodes) {
  NormConstants found;
  const auto take = [&](std::optional<Bias>& constant, const onnx::NodeProto& node, int input) {
    const bool read = input < node.input_size() && is_initializer(model, node.input(input));
    if (!read || initializer(model, node.input(input))->count() < 2) return;
    constant = constant ? Bias{&node, {}} : Bias{&node, node.input(input)};  // of two none is known
  };
  for (const onnx::NodeProto* node : nodes) {
    const bool skips = is_onnx_runtime(*node, "SkipLayerNormalization");
    if (skips || is_norm(*node)) {
      found = {};
      found.in_pieces = false;
      take(found.scale, *node, skips ? 2 : 1);
      take(found.shift, *node, skips ? 3 : 2);
      return found;
    }
    for (int input = 0; input < 2; ++input) {
      if (is_onnx(*node, "Mul")) take(found.scale, *node, input);
      if (is_onnx(*node, "Add")) take(found.shift, *node, input);
    }
  }
  return found;
}

/// A constant that its format makes infinite.
std::optional<OtherLayer> constant_beyond(const onnx::NodeProto& low, const std::string& input, const Tensor& wanted,
                                          const Tensor& held, Format format) {
  for (std::size_t i = 0; i < held.floats().size(); ++i) {
    const float was = wanted.floats()[i], is = held.floats()[i];
    if (!std::isfinite(was) || std::isfinite(is)) continue;
    OtherLayer found{{low.name(), fmt::format("the constant {:g} of {} '{}' is beyond {} and becomes {}inf", was,
                                              printable(low.op_type()), printable(low.name()), format_title(format),
                                              is < 0 ? "-" : "")},
                     false,
                     input,
                     wanted};
    found.cure = "limit the constant to what the format holds (the repair clamp-mask does), or keep the node in FP32";
    found.most_left = 0.9;
    return found;
  }
  return std::nullopt;
}

}  // namespace

std::string node_of_layer(const Nodes& lows) {
  const auto computes = [](const onnx::NodeProto* low) {
    return low->domain() != kDomain && !is_onnx(*low, "Reshape");
  };
  const auto found = std::ranges::find_if(lows, computes);
  return found == lows.end() ? lows.front()->name() : (*found)->name();
}

std::optional<OtherLayer> OtherConstants::other_values(const Nodes& lows, bool any) const {
  for (const onnx::NodeProto* low : lows) {
    for (const std::string& input : low->input()) {
      const auto wanted = weights_.found.find(input);
      const auto held =
          wanted == weights_.found.end() || stored_.contains(input) ? std::nullopt : initializer(file_, input);
      if (!held || held->dtype() != Dtype::Float32) continue;
      if (any && wanted->second.other_form) continue;  // other layers of the file may hold the rest
      if (!values_differ(wanted->second.values.floats(), held->floats(), any)) continue;
      if (const auto format = rounding_between(wanted->second.values.floats(), held->floats())) {
        if (auto beyond = constant_beyond(*low, input, wanted->second.values, *held, *format)) return beyond;
        continue;
      }
      return OtherLayer{{low->name(), fmt::format("the constant '{}' of {} '{}' differs from '{}' of the float model",
                                                  printable(input), printable(low->op_type()), printable(low->name()),
                                                  printable(wanted->second.name))},
                        false,
                        input,
                        wanted->second.values};
    }
  }
  return std::nullopt;
}

std::optional<OtherLayer> OtherConstants::other_bias(const Nodes& refs, const Nodes& lows) const {
  const std::optional<Bias> wanted = bias_in(float_model_, refs), held = bias_in(file_, lows);
  const auto lost = wanted && !held ? initializer(float_model_, wanted->constant) : std::nullopt;
  const auto is_zero = [](float value) { return value == 0; };
  if (lost && !(lost->dtype() == Dtype::Float32 && std::ranges::all_of(lost->floats(), is_zero))) {
    return OtherLayer{
        {node_of_layer(lows),
         fmt::format("the file has no bias '{}', which {} '{}' of the float model adds", printable(wanted->constant),
                     printable(wanted->node->op_type()), printable(wanted->node->name()))}};
  }
  if (wanted || !held || held->constant.empty()) return std::nullopt;
  const auto values = initializer(file_, held->constant);
  if (!values || values->dtype() != Dtype::Float32) return std::nullopt;
  return OtherLayer{{held->node->name(), fmt::format("{} '{}' adds the bias '{}', but the float model adds none",
                                                     printable(held->node->op_type()), printable(held->node->name()),
                                                     printable(held->constant))},
                    false,
                    held->constant,
                    Tensor(Dtype::Float32, values->shape())};
}

std::optional<OtherLayer> OtherConstants::other_norm(const Nodes& refs, const Nodes& lows) const {
  const NormConstants wanted = norm_constants_in(float_model_, refs), held = norm_constants_in(file_, lows);
  const auto norms = [](const Nodes& nodes) {
    return std::ranges::count_if(nodes, [](const onnx::NodeProto* node) {
      return is_norm(*node) || is_onnx_runtime(*node, "SkipLayerNormalization") || is_onnx(*node, "Sqrt");
    });
  };
  if (wanted.in_pieces == held.in_pieces || norms(refs) != norms(lows)) return std::nullopt;
  for (const auto& [was, is] : {std::pair(wanted.scale, held.scale), std::pair(wanted.shift, held.shift)}) {
    if (!was || !is || was->constant.empty() || is->constant.empty() || stored_.contains(is->constant)) continue;
    const auto values = initializer(float_model_, was->constant), other = initializer(file_, is->constant);
    if (values->dtype() != Dtype::Float32 || other->dtype() != Dtype::Float32) continue;
    if (values->count() != other->count() || !values_differ(values->floats(), other->floats(), /*any=*/true)) continue;
    return OtherLayer{{is->node->name(), fmt::format("the constant '{}' of {} '{}' differs from '{}' of {} '{}' in the "
                                                     "float model",
                                                     printable(is->constant), printable(is->node->op_type()),
                                                     printable(is->node->name()), printable(was->constant),
                                                     printable(was->node->op_type()), printable(was->node->name()))},
                      false,
                      is->constant,
                      Tensor::of(other->shape(), values->floats())};
  }
  return std::nullopt;
}

std::optional<OtherLayer> OtherConstants::other_weight(const Nodes& lows) const {
  for (const onnx::NodeProto* low : lows) {
    const auto held = low->input_size() > 1 ? weights_.found.find(low->input(1)) : weights_.found.end();
    if (held == weights_.found.end() || held->second.instead.empty()) continue;
    return OtherLayer{{low->name(), fmt::format("{} '{}' has the weight '{}', in the float model '{}'",
                                                printable(low->op_type()), printable(low->name()),
                                                printable(held->second.name), printable(held->second.instead))}};
  }
  return std::nullopt;
}

}  // namespace vernier
