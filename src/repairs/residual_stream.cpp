// Finds streams: from what a norm reads, back to all that writes it and ahead to all that reads it.
#include "repairs/residual_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "repairs/channel_axis.h"
#include "repairs/stream_graph.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

class StreamSearch {
 public:
  StreamSearch(const StreamGraph& graph, std::size_t width)
      : graph_(graph), axis_(graph, static_cast<std::int64_t>(width)), width_(static_cast<std::int64_t>(width)) {
    stream_.width = width;
  }

  ResidualStream from(const std::string& norm_input) {
    include(norm_input, {0, -1, {}});
    while (!open_.empty() && stream_.why_not.empty()) {
      const std::string tensor = open_.front();
      open_.pop_front();
      const Inside inside = inside_.at(tensor);
      if (inside.norm < 0) look_back(tensor, inside);
      look_ahead(tensor, inside);
    }
    for (const auto& [tensor, inside] : inside_) {
      if (inside.norm < 0) stream_.tensors.push_back(tensor);
    }
    if (stream_.why_not.empty()) note_crossings();
    return std::move(stream_);
  }

 private:
  struct Inside {
    int from_end = 0;
    int norm = -1;
    std::vector<std::string> factors;
    bool operator==(const Inside&) const = default;
  };

  void include(const std::string& tensor, const Inside& inside) {
    const auto [place, fresh] = inside_.try_emplace(tensor, inside);
    if (fresh) {
      open_.push_back(tensor);
    } else if (place->second != inside) {
      stream_.why_not = fmt::format("'{}' would need two different mappings", printable(tensor));
    }
  }

  /// An input of a node on the way: a constant that is mapped, or a tensor.
  void include_input(const onnx::NodeProto& node, int input, const Inside& inside) {
    const std::string& name = node.input(input);
    if (is_initializer(graph_.model, name)) {
      stream_.writers.push_back({node.name(), input, inside.from_end, inside.factors});
    } else {
      include(name, inside);
    }
  }

  bool is_data(const std::string& name) const { return !is_initializer(graph_.model, name); }

  bool is_number(const std::string& name, int from_end) const {
    if (const std::optional<Tensor> value = initializer(graph_.model, name)) {
      const int axis = static_cast<int>(value->shape().size()) - 1 - from_end;
      return value->dtype() == Dtype::Float32 && (axis < 0 || value->shape()[static_cast<std::size_t>(axis)] == 1);
    }
    return graph_.size_at(name, from_end) == 1;
  }

  /// Constants of one value for each channel, and nothing else.
  bool is_factor(const std::string& name, int from_end) const {
    const std::optional<Tensor> value = initializer(graph_.model, name);
    if (!value || value->dtype() != Dtype::Float32 || value->count() != width_) return false;
    const int axis = static_cast<int>(value->shape().size()) - 1 - from_end;
    return axis >= 0 && value->shape()[static_cast<std::size_t>(axis)] == width_;
  }

  /// Adds tensors that all have the channels: none is one value for all of them, constants aside.
  bool joins(const onnx::NodeProto& node, int from_end) const {
    const std::string& op = node.op_type();
    if (!of_onnx(node) || (op != "Add" && op != "Sub" && op != "Sum")) return false;
    return std::ranges::all_of(node.input(), [&](const std::string& input) {
      if (!is_data(input)) return graph_.is_float(input);
      const std::int64_t size = graph_.size_at(input, from_end);
      return size < 0 || size == width_;
    });
  }

  /// The input of a Mul or Div whose channels are all multiplied alike; -1: none.
  int scaled_input(const onnx::NodeProto& node, int from_end) const {
    if (!of_onnx(node) || node.input_size() != 2 || node.input(0) == node.input(1)) return -1;
    if (node.op_type() != "Mul" && node.op_type() != "Div") return -1;
    if (is_data(node.input(0)) && is_number(node.input(1), from_end)) return 0;
    if (node.op_type() == "Mul" && is_data(node.input(1)) && is_number(node.input(0), from_end)) return 1;
    return -1;
  }

  /// The input of a Mul behind whose other input is a factor for each channel; -1: none.
  int factored_input(const onnx::NodeProto& node, int from_end) const {
    if (!is_onnx(node, "Mul") || node.input_size() != 2) return -1;
    if (is_data(node.input(0)) && is_factor(node.input(1), from_end)) return 0;
    return is_data(node.input(1)) && is_factor(node.input(0), from_end) ? 1 : -1;
  }

  /// A layer whose weight makes the channels.
  bool makes(const onnx::NodeProto& node, int from_end, StreamConstant& weight) const {
    const std::optional<WeightSeen> seen = graph_.weight_of(node);
    if (!seen) return false;
    const int rank = static_cast<int>(seen->shape.size());
    int axis = rank - 1;
    if (node.op_type() == "Conv") {
      if (from_end != rank - 2) return false;
      axis = 0;
    } else {
      if (from_end != 0) return false;
      if (node.op_type() == "Gemm" && attribute_int(node, "transB", 0) != 0) axis = 0;
    }
    if (seen->shape[static_cast<std::size_t>(axis)] != width_) return false;
    if (node.input_size() > 2 && !node.input(2).empty() && !graph_.is_float(node.input(2))) return false;
    if (seen->transposed) axis = 1 - axis;
    weight = {seen->node, seen->input, rank - 1 - axis, {}};
    return true;
  }

  /// A layer whose weight reads the channels. `adds`: the norm in front adds something, which padding would leave out.
  std::optional<StreamProduct> reads(const onnx::NodeProto& node, const std::string& tensor, int from_end,
                                     bool adds) const {
    const std::optional<WeightSeen> seen = graph_.weight_of(node);
    if (!seen || node.input(0) != tensor || node.input(1) == tensor) return std::nullopt;
    const int rank = static_cast<int>(seen->shape.size());
    int axis = 0;
    int result = 1;
    if (node.op_type() == "Conv") {
      if (from_end != rank - 2) return std::nullopt;
      std::swap(axis, result);
      const auto pads = attribute_ints(node, "pads");
      const bool pads_any = std::ranges::any_of(pads, [](std::int64_t pad) { return pad != 0; }) ||
                            find_attribute(node, "auto_pad") != nullptr;
      if (adds && pads_any) return std::nullopt;
    } else {
      if (from_end != 0) return std::nullopt;
      if (node.op_type() == "Gemm" && attribute_int(node, "transB", 0) != 0) std::swap(axis, result);
    }
    if (seen->shape[static_cast<std::size_t>(axis)] != width_) return std::nullopt;
    if (node.input_size() > 2 && !node.input(2).empty() && !graph_.is_float(node.input(2))) return std::nullopt;
    const std::int64_t results = seen->shape[static_cast<std::size_t>(result)];
    if (seen->transposed) axis = 1 - axis;
    return StreamProduct{node.name(), {seen->node, seen->input, rank - 1 - axis, {}}, results};
  }

  /// All that makes a tensor can take factors and a matrix, and nothing else reads it.
  bool folds(const std::string& tensor, int from_end) const {
    if (!is_data(tensor)) return graph_.is_float(tensor);
    if (graph_.counts.at(tensor) != 1) return false;
    const onnx::NodeProto* maker = graph_.walk.maker(tensor);
    if (maker == nullptr) return false;
    StreamConstant weight;
    if (makes(*maker, from_end, weight)) return true;
    if (joins(*maker, from_end)) {
      return std::ranges::all_of(maker->input(), [&](const std::string& input) { return folds(input, from_end); });
    }
    if (!ChannelAxis::moves(*maker) || maker->op_type() == "Concat") return false;
    const std::optional<int> before = axis_.back(*maker, from_end);
    return before && maker->output(0) == tensor && maker->output_size() == 1 && folds(maker->input(0), *before);
  }

  void look_back(const std::string& tensor, const Inside& inside) {
    const onnx::NodeProto* maker = graph_.walk.maker(tensor);
    if (maker == nullptr || has_body(*maker)) return starts_at(tensor);
    StreamConstant weight;
    if (makes(*maker, inside.from_end, weight)) {
      if (!written_.insert(maker->name()).second) return;
      weight.factors = inside.factors;
      stream_.writers.push_back(weight);
      stream_.written_by.push_back(maker->name());
      if (maker->input_size() > 2 && !maker->input(2).empty()) {
        // The bias of a convolution has one axis.
        stream_.writers.push_back({maker->name(), 2, 0, inside.factors});
      }
      return;
    }
    if (joins(*maker, inside.from_end)) return include_all(*maker, inside);
    if (const int data = scaled_input(*maker, inside.from_end); data >= 0) {
      return include(maker->input(data), inside);
    }
    if (const int data = factored_input(*maker, inside.from_end);
        data >= 0 && folds(maker->input(data), inside.from_end) && !graph_.outputs.contains(tensor)) {
      Inside before = inside;
      before.factors.push_back(maker->input(1 - data));
      stream_.scaled_by.push_back(maker->name());
      return include(maker->input(data), before);
    }
    if (ChannelAxis::moves(*maker)) {
      if (const std::optional<int> before = axis_.back(*maker, inside.from_end))
        return pass_back(*maker, inside, *before);
    }
    starts_at(tensor);
  }

  void include_all(const onnx::NodeProto& node, const Inside& inside) {
    if (!joined_.insert(node.name()).second) return;
    if (std::ranges::count_if(node.input(), [&](const std::string& input) { return is_data(input); }) > 1) {
      ++stream_.additions;
    }
    for (int i = 0; i < node.input_size(); ++i) include_input(node, i, inside);
    include(node.output(0), inside);
  }

  void pass_back(const onnx::NodeProto& node, const Inside& inside, int before) {
    if (!passed_.insert(node.name()).second) return;
    Inside moved = inside;
    moved.from_end = before;
    const int inputs = node.op_type() == "Concat" ? node.input_size() : 1;
    for (int i = 0; i < inputs; ++i) include_input(node, i, moved);
    const int outputs = node.op_type() == "Split" ? node.output_size() : 1;
    for (int i = 0; i < outputs; ++i) {
      if (!node.output(i).empty()) include(node.output(i), inside);
    }
  }

  void starts_at(const std::string& tensor) { starts_.insert(tensor); }

  void look_ahead(const std::string& tensor, const Inside& inside) {
    const auto& readers = graph_.walk.readers(tensor);
    const auto counted = graph_.counts.find(tensor);
    const int expected = static_cast<int>(readers.size()) + (graph_.outputs.contains(tensor) ? 1 : 0);
    if (counted != graph_.counts.end() && counted->second != expected) {
      stream_.why_not = fmt::format("the body of an If, Loop or Scan reads '{}'", printable(tensor));
      return;
    }
    if (graph_.outputs.contains(tensor)) plain_.insert(tensor);
    for (const onnx::NodeProto* reader : readers) {
      if (has(*reader, Trait::ReadsShape) || read_ahead(*reader, tensor, inside)) continue;
      plain_.insert(tensor);
      plain_readers_[tensor].insert(reader->name());
    }
  }

  /// False: this node has to read the tensor as it was.
  bool read_ahead(const onnx::NodeProto& node, const std::string& tensor, const Inside& inside) {
    if (has_body(node)) return false;
    if (inside.norm < 0) {
      if (inside.from_end == 0 && inside.factors.empty() && is_norm(node, tensor)) return true;
      if (joins(node, inside.from_end)) {
        include_all(node, inside);
        return true;
      }
      if (!inside.factors.empty()) return factored_input(node, inside.from_end) >= 0 || passed_.contains(node.name());
    }
    if (const int data = scaled_input(node, inside.from_end); data >= 0 && node.input(data) == tensor) {
      if (inside.norm >= 0 && !norm_of(inside).bias_node.empty()) return false;
      include(node.output(0), inside);
      return true;
    }
    const bool adds = inside.norm >= 0 && !norm_of(inside).bias_node.empty();
    if (std::optional<StreamProduct> product = reads(node, tensor, inside.from_end, adds)) {
      (inside.norm >= 0 ? norm_of(inside).products : stream_.products).push_back(std::move(*product));
      return true;
    }
    if (!ChannelAxis::moves(node) || node.input(0) != tensor) {
      // What is joined with others along another axis.
      if (!is_onnx(node, "Concat") || inside.norm >= 0) return false;
    }
    if (inside.norm >= 0 && (node.op_type() == "Concat" || node.op_type() == "Neg")) return false;
    const std::optional<int> behind = axis_.ahead(node, inside.from_end);
    if (!behind) return false;
    Inside moved = inside;
    moved.from_end = *behind;
    if (inside.norm < 0) {
      pass_back(node, moved, inside.from_end);
    } else {
      for (const std::string& output : node.output()) {
        if (!output.empty()) include(output, moved);
      }
    }
    return true;
  }

  StreamNorm& norm_of(const Inside& inside) { return stream_.norms[static_cast<std::size_t>(inside.norm)]; }

  bool is_norm(const onnx::NodeProto& node, const std::string& tensor) {
    const auto found = graph_.norms.find(tensor);
    if (found == graph_.norms.end()) return false;
    for (const NormSeen& seen : found->second) {
      if (!seen.nodes.contains(node.name())) continue;
      if (normed_.insert(seen.norm.output).second) {
        stream_.norms.push_back(seen.norm);
        include(seen.norm.output, {0, static_cast<int>(stream_.norms.size()) - 1, {}});
      }
      return true;
    }
    return false;
  }

  void note_crossings() {
    std::set<std::string> all(starts_);
    all.insert(plain_.begin(), plain_.end());
    for (const std::string& tensor : all) {
      const Inside& inside = inside_.at(tensor);
      if (inside.from_end != 0 || !inside.factors.empty()) {
        const onnx::NodeProto* maker = graph_.walk.maker(tensor);
        stream_.why_not = fmt::format("'{}' from {} cannot take a matrix", printable(tensor),
                                      maker == nullptr ? "nothing" : maker->op_type());
        return;
      }
      StreamCrossing crossing;
      crossing.tensor = tensor;
      crossing.starts = starts_.contains(tensor);
      crossing.norm = inside.norm;
      for (const onnx::NodeProto* reader : graph_.walk.readers(tensor)) {
        const auto plain = plain_readers_.find(tensor);
        const bool as_it_was = plain != plain_readers_.end() && plain->second.contains(reader->name());
        if (!as_it_was && !has(*reader, Trait::ReadsShape)) crossing.mapped.insert(reader->name());
      }
      stream_.crossings.push_back(std::move(crossing));
    }
  }

  const StreamGraph& graph_;
  const ChannelAxis axis_;
  const std::int64_t width_;
  ResidualStream stream_;
  std::map<std::string, Inside> inside_;
  std::deque<std::string> open_;
  std::set<std::string> starts_, plain_;
  std::map<std::string, std::set<std::string>> plain_readers_;
  std::set<std::string> written_, joined_, passed_, normed_;
};

}  // namespace

std::vector<std::string> ResidualStream::layers() const {
  std::vector<std::string> names = written_by;
  const auto add = [&](const std::vector<StreamProduct>& all) {
    for (const StreamProduct& product : all) {
      if (std::ranges::find(names, product.layer) == names.end()) names.push_back(product.layer);
    }
  };
  for (const StreamNorm& norm : norms) add(norm.products);
  add(products);
  return names;
}

bool ResidualStream::subtracts_mean() const { return std::ranges::any_of(norms, &StreamNorm::subtracts_mean); }

std::vector<ResidualStream> residual_streams(const Network& network, std::size_t additions) {
  const StreamGraph graph(network.model);
  std::vector<ResidualStream> streams;
  std::set<std::string> seen;
  for (const std::string& input : graph.norm_inputs) {
    const std::size_t width = width_of(graph, input);
    if (width == 0 || seen.contains(input)) continue;
    StreamSearch search(graph, width);
    ResidualStream stream = search.from(input);
    seen.insert(stream.tensors.begin(), stream.tensors.end());
    if (stream.additions >= additions) streams.push_back(std::move(stream));
  }
  return streams;
}

}  // namespace vernier
