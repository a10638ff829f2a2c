#include "repairs/channel_copies.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/graph_walk.h"
#include "model/operator_traits.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Each value of the result is made of the values of the same channel alone.
bool keeps_channels_apart(const onnx::NodeProto& node, bool convolution) {
  return has(node, Trait::Elementwise) || (convolution && has(node, Trait::ByChannel));
}

struct Way {
  const Network& network;
  const GraphWalk walk;
  const std::map<std::string, int> readers;
  std::size_t channels = 0;
  std::size_t behind = 0;            // dimensions behind that of the channels
  std::map<std::string, int> reads;  // by what was walked over
  std::set<const onnx::NodeProto*> seen;
  const onnx::NodeProto* first = nullptr;
  std::string made;

  bool weighted(const onnx::NodeProto& node) const {
    // Of a ConvTranspose channels are another dimension of the weight.
    return has(node, Trait::Weighted) && node.op_type() != "ConvTranspose" && node.input_size() > 1 &&
           is_initializer(network.model, node.input(1));
  }

  /// Every channel has one value of it, in the dimension where channels are.
  bool by_channel(const Tensor& value) const {
    if (value.count() != static_cast<std::int64_t>(channels) || value.shape().size() <= behind) return false;
    return value.shape()[value.shape().size() - 1 - behind] == static_cast<std::int64_t>(channels);
  }

  void walk_back(const std::string& tensor, ChannelPath& path) {
    ++reads[tensor];
    const onnx::NodeProto* maker = walk.maker(tensor);
    if (maker == nullptr) {
      path.why_not =
          fmt::format("'{}' is an input of the network, so no layer computes its channels", printable(tensor));
      return;
    }
    if (weighted(*maker)) {
      if (first != nullptr && first != maker) path.why_not = "two layers compute its channels";
      first = maker;
      made = tensor;
      return;
    }
    if (!seen.insert(maker).second) return;
    if (!keeps_channels_apart(*maker, behind > 0) || maker->output_size() != 1) {
      path.why_not = maker->op_type() == "ConvTranspose"
                         ? fmt::format("ConvTranspose '{}' before it makes the channels", printable(maker->name()))
                         : fmt::format("{} '{}' before it mixes channels or computes them itself", maker->op_type(),
                                       printable(maker->name()));
      return;
    }
    path.between.push_back(tensor);
    look_at_constants(*maker, path);
    for (const std::string& input : maker->input()) {
      if (!path.why_not.empty()) return;
      if (!input.empty() && !is_initializer(network.model, input)) walk_back(input, path);
    }
  }

  void look_at_constants(const onnx::NodeProto& node, ChannelPath& path) {
    const std::string& op = node.op_type();
    int data = 0;
    const bool sums = has(node, Trait::Homogeneous);
    bool scales = sums || (has(node, Trait::HomogeneousInFirst) &&
                           (op == "Mul" || !is_initializer(network.model, node.input(0))));
    for (const std::string& input : node.input()) {
      if (input.empty()) continue;
      const std::optional<Tensor> value = initializer(network.model, input);
      if (!value) {
        ++data;
        continue;
      }
      const bool each = value->dtype() == Dtype::Float32 && by_channel(*value);
      if (each && value->count() > 1) {
        path.copied.push_back(input);
        if (sums) path.scaled.push_back(input);
        if (readers.at(input) > 1) path.why_not = fmt::format("another layer also reads '{}'", printable(input));
      } else if (value->count() != 1) {
        path.why_not = fmt::format("'{}' does not have one value for each channel", printable(input));
      } else if (sums && (value->dtype() != Dtype::Float32 || value->floats()[0] != 0)) {
        scales = false;  // would have to become one value for each channel
      }
    }
    // With the factor at both, a product has it twice and a quotient not at all.
    if (has(node, Trait::HomogeneousInFirst) && data > 1) scales = false;
    if (!scales && path.not_homogeneous.empty()) {
      path.not_homogeneous = fmt::format("no factor can pass {} '{}' before it", op, printable(node.name()));
    }
  }
};

/// Rows of `axis` again, as `source` says, times `factor`.
Tensor taken(const Tensor& old, std::size_t axis, const std::vector<std::size_t>& source,
             const std::vector<float>& factor) {
  Shape shape = old.shape();
  shape[axis] = static_cast<std::int64_t>(source.size());
  Tensor wide(Dtype::Float32, shape);
  std::size_t inner = 1;
  for (std::size_t d = axis + 1; d < shape.size(); ++d) inner *= static_cast<std::size_t>(shape[d]);
  const auto before = static_cast<std::size_t>(old.shape()[axis]);
  for (std::size_t i = 0; i < wide.floats().size(); ++i) {
    const std::size_t c = i / inner % source.size();
    const std::size_t outer = i / inner / source.size();
    wide.mutable_floats()[i] = old.floats()[(outer * before + source[c]) * inner + i % inner] * factor[c];
  }
  return wide;
}

std::size_t axis_of_channels(const Shape& shape, std::size_t channels) {
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == static_cast<std::int64_t>(channels)) return d;
  }
  return 0;
}

}  // namespace

std::size_t ChannelPath::index_along(const Tensor& tensor, std::size_t i, int axis) {
  std::size_t inner = 1;
  for (std::size_t d = static_cast<std::size_t>(axis) + 1; d < tensor.shape().size(); ++d) {
    inner *= static_cast<std::size_t>(tensor.shape()[d]);
  }
  return i / inner % static_cast<std::size_t>(tensor.shape()[static_cast<std::size_t>(axis)]);
}

std::optional<std::size_t> channels_read(const Model& model, const onnx::NodeProto& node, const std::string& weight) {
  const Shape shape = initializer(model, weight).value().shape();
  if (node.op_type() == "Conv" && shape.size() > 2 && attribute_int(node, "group", 1) == 1) {
    return static_cast<std::size_t>(shape[1]);
  }
  if (shape.size() != 2) return std::nullopt;
  if (node.op_type() == "MatMul") return static_cast<std::size_t>(shape[0]);
  if (node.op_type() != "Gemm" || attribute_int(node, "transA", 0) != 0) return std::nullopt;
  return static_cast<std::size_t>(shape[attribute_int(node, "transB", 0) != 0 ? 1 : 0]);
}

void ChannelPath::of_second(const onnx::NodeProto& node, const std::string& weight, std::size_t count) {
  second_weight = weight;
  channels = count;
  const bool results_first = node.op_type() == "Conv" || attribute_int(node, "transB", 0) != 0;
  second_axis = results_first ? 1 : 0;
  result_axis = results_first ? 0 : 1;
}

ChannelPath channel_path(const Network& network, const WeightedLayer& second, std::size_t channels) {
  ChannelPath path;
  path.of_second(*second.node, second.weight, channels);
  Way way{network,
          GraphWalk(network.model),
          count_readers(network.model),
          channels,
          second.node->op_type() == "Conv" ? initializer(network.model, second.weight)->shape().size() - 2 : 0,
          {},
          {},
          nullptr,
          {}};
  way.walk_back(second.data, path);
  if (!path.why_not.empty()) return path;
  for (const auto& [tensor, count] : way.reads) {
    if (way.readers.at(tensor) == count) continue;
    path.why_not = fmt::format("other layers also read '{}'", printable(tensor));
    return path;
  }
  const onnx::NodeProto& first = *way.first;
  const bool conv = first.op_type() == "Conv";
  path.first_weight = first.input(1);
  const Shape shape = initializer(network.model, path.first_weight)->shape();
  path.first_axis = conv || attribute_int(first, "transB", 0) != 0 ? 0 : 1;
  if (conv != (way.behind > 0) || (!conv && shape.size() != 2) || attribute_int(first, "group", 1) != 1) {
    path.why_not = fmt::format("{} '{}' before it computes channels that cannot be copied", first.op_type(),
                               printable(first.name()));
  } else if (shape[static_cast<std::size_t>(path.first_axis)] != static_cast<std::int64_t>(channels)) {
    path.why_not = "the layer before it has a different number of channels";
  } else if (way.readers.at(path.first_weight) > 1 || way.readers.at(path.second_weight) > 1) {
    path.why_not = "another layer reads the same weight";
  }
  if (path.why_not.empty() && first.input_size() > 2 && !first.input(2).empty()) {
    path.first_bias = first.input(2);
    const std::optional<Tensor> bias = initializer(network.model, path.first_bias);
    if (!bias || bias->count() != static_cast<std::int64_t>(channels) || way.readers.at(path.first_bias) > 1) {
      path.why_not = "the bias before it is not its own constant with one value for each channel";
    }
  }
  path.between.push_back(way.made);
  return path;
}

void copy_channels(
    Model& model, const ChannelPath& path, const std::vector<std::size_t>& copies, bool scale_first,
    const std::function<float(const Tensor& wide, std::size_t i, std::size_t channel, std::size_t part)>& part) {
  std::vector<std::size_t> source(copies.size());
  std::vector<std::size_t> which(copies.size(), 0);
  for (std::size_t c = 0; c < copies.size(); ++c) source[c] = c;
  for (std::size_t c = 0; c < copies.size(); ++c) {
    for (std::size_t extra = 1; extra < copies[c]; ++extra) {
      source.push_back(c);
      which.push_back(extra);
    }
  }
  const std::vector<float> whole(source.size(), 1);
  std::vector<float> share(source.size(), 1);
  for (std::size_t c = 0; c < source.size(); ++c) share[c] = 1 / static_cast<float>(copies[source[c]]);
  const auto replace = [&](const std::string& name, std::size_t axis, const std::vector<float>& factor) {
    const Tensor old = initializer(model, name).value();
    set_initializer(model, *owner_of_initializer(model, name), name, taken(old, axis, source, factor));
  };
  const std::vector<float>& made = scale_first ? share : whole;
  replace(path.first_weight, static_cast<std::size_t>(path.first_axis), made);
  for (const std::string& name : path.copied) {
    const bool scaled = std::ranges::find(path.scaled, name) != path.scaled.end();
    replace(name, axis_of_channels(initializer(model, name).value().shape(), copies.size()), scaled ? made : whole);
  }
  if (!path.first_bias.empty()) {
    replace(path.first_bias, axis_of_channels(initializer(model, path.first_bias).value().shape(), copies.size()),
            made);
  }
  const Tensor wide =
      taken(initializer(model, path.second_weight).value(), static_cast<std::size_t>(path.second_axis), source, whole);
  Tensor parts(Dtype::Float32, wide.shape());
  for (std::size_t i = 0; i < wide.floats().size(); ++i) {
    const std::size_t c = path.channel_of(wide, i);
    parts.mutable_floats()[i] = part(wide, i, source[c], which[c]);
  }
  set_initializer(model, *owner_of_initializer(model, path.second_weight), path.second_weight, parts);
  NamePool names(model);
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  for (const std::string& tensor : path.between) {
    const std::string wider = names.unique(tensor + ".wide");
    rename_reads(graph, tensor, wider);
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      for (std::string& output : *node.mutable_output()) {
        if (output == tensor) output = wider;
      }
    }
  }
  remove_leftovers(model);  // shapes that the file has written down
}

}  // namespace vernier
