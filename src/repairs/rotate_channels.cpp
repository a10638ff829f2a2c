// Folds an orthogonal matrix Q into what writes a residual stream and what reads it.
//   x W1 ..., table[i] ...     ->  x (W1 Q), (table Q)[i]                 what writes
//   (norm(x) g + b) W2 + c     ->  norm(x Q) (Q^T g W2) + (c + b W2)      what reads, its norm without scale and bias
//   x                          ->  (x Q) Q^T                              what has to stay as it was: one product
// Instead of Q, the matrix that takes out the mean goes into what writes alone: norms that subtract it do not notice.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/graph_edit.h"
#include "model/graph_walk.h"
#include "repairs/norm_in_pieces.h"
#include "repairs/residual_stream.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Row = std::vector<double>;

/// Calls `change` for each row along an axis, with what stands at one place of all others. Rows are read a few at a
/// time: neighbours in memory belong to different ones.
Tensor changed_along(const Tensor& old, std::size_t axis, const std::function<void(std::span<double>)>& change) {
  constexpr std::size_t kTile = 16;
  const auto width = static_cast<std::size_t>(old.shape()[axis]);
  std::size_t inner = 1;
  for (std::size_t d = axis + 1; d < old.shape().size(); ++d) inner *= static_cast<std::size_t>(old.shape()[d]);
  Tensor made(Dtype::Float32, old.shape());
  const std::span<const float> from = old.floats();
  const std::span<float> to = made.mutable_floats();
  Row rows(kTile * width);
  for (std::size_t start = 0; start < from.size(); start += width * inner) {
    for (std::size_t first = 0; first < inner; first += kTile) {
      const std::size_t count = std::min(kTile, inner - first);
      for (std::size_t c = 0; c < width; ++c) {
        for (std::size_t i = 0; i < count; ++i) {
          rows[i * width + c] = static_cast<double>(from[start + c * inner + first + i]);
        }
      }
      for (std::size_t i = 0; i < count; ++i) change(std::span(rows).subspan(i * width, width));
      for (std::size_t c = 0; c < width; ++c) {
        for (std::size_t i = 0; i < count; ++i) {
          to[start + c * inner + first + i] = static_cast<float>(rows[i * width + c]);
        }
      }
    }
  }
  return made;
}

/// With `width` equal values along an axis counted from the end, where there was one, or no such axis.
Tensor spread_along(const Tensor& old, std::size_t from_end, std::size_t width) {
  Shape shape = old.shape();
  while (shape.size() <= from_end) shape.insert(shape.begin(), 1);
  std::int64_t& size = shape[shape.size() - 1 - from_end];
  if (size != 1) return old;
  size = static_cast<std::int64_t>(width);
  std::size_t inner = 1;
  for (std::size_t d = shape.size() - from_end; d < shape.size(); ++d) inner *= static_cast<std::size_t>(shape[d]);
  Tensor made(Dtype::Float32, shape);
  for (std::size_t i = 0; i < made.floats().size(); ++i) {
    made.mutable_floats()[i] = old.floats()[i / (inner * width) * inner + i % inner];
  }
  return made;
}

class StreamRotation {
 public:
  StreamRotation(Model& model, const ResidualStream& stream, const ChannelMap& turn)
      : model_(model),
        stream_(stream),
        turn_(turn),
        width_(stream.width),
        names_(model),
        counts_(count_readers(model)) {}

  void run() {
    change_writers();
    for (const StreamProduct& product : stream_.products) read(product, {});
    for (const StreamNorm& norm : stream_.norms) {
      // Taken before they are replaced.
      scales_.push_back(row_at(norm.scale_node, norm.scale_input, 1));
      biases_.push_back(row_at(norm.bias_node, norm.bias_input, 0));
      for (const StreamProduct& product : norm.products) {
        if (!biases_.back().empty()) add_to_results(product, biases_.back());
        read(product, scales_.back());
      }
      if (!norm.scale_node.empty()) fill(norm.scale_node, norm.scale_input, 1);
      if (!norm.bias_node.empty()) fill(norm.bias_node, norm.bias_input, 0);
    }
    remove_factors();
    for (const StreamCrossing& crossing : stream_.crossings) cross(crossing);
    remove_leftovers(model_);
  }

  void run_on_writers() {
    change_writers();
    remove_factors();
    remove_leftovers(model_);
  }

 private:
  void change_writers() {
    for (const StreamConstant& writer : stream_.writers) write(writer);
  }

  void remove_factors() {
    for (const std::string& name : stream_.scaled_by) remove_factor(name);
  }

  onnx::GraphProto& graph() { return *model_.proto.mutable_graph(); }

  onnx::NodeProto& node(const std::string& name) {
    onnx::NodeProto* found = find_node(graph(), name);
    if (found == nullptr) throw Error(ErrorKind::Internal, "a node of the residual stream is missing: " + name);
    return *found;
  }

  Tensor value(const std::string& name, int input) { return initializer(model_, node(name).input(input)).value(); }

  /// Gives a node its constant. What others read as well stays for them; `change` says what is the same for several.
  void put(const std::string& name, int input, const Tensor& value, const std::string& change) {
    onnx::NodeProto& reader = node(name);
    const std::string old = reader.input(input);
    const auto readers = counts_.find(old);
    if (readers == counts_.end() || readers->second == 1) {
      set_initializer(model_, *owner_of_initializer(model_, old), old, value);
      return;
    }
    std::string& fresh = copies_[{old, change}];
    if (fresh.empty()) {
      fresh = names_.unique(old);
      set_initializer(model_, graph(), fresh, value);
    }
    reader.set_input(input, fresh);
  }

  Row row_of(const std::string& constant, double otherwise) {
    Row row(width_, otherwise);
    const Tensor value = initializer(model_, constant).value();
    for (std::size_t c = 0; c < width_; ++c) {
      row[c] = static_cast<double>(value.floats()[value.count() == 1 ? 0 : c]);
    }
    return row;
  }

  /// Empty: there is no such constant.
  Row row_at(const std::string& name, int input, double otherwise) {
    return name.empty() ? Row() : row_of(node(name).input(input), otherwise);
  }

  void write(const StreamConstant& writer) {
    const auto from_end = static_cast<std::size_t>(writer.from_end);
    Row factors(width_, 1);
    std::string change = "written " + std::to_string(from_end);
    for (const std::string& factor : writer.factors) {
      const Row row = row_of(factor, 1);
      std::ranges::transform(factors, row, factors.begin(), std::multiplies<>());
      change += " " + factor;
    }
    const Tensor old = spread_along(value(writer.node, writer.input), from_end, width_);
    const Tensor made = changed_along(old, old.shape().size() - 1 - from_end, [&](std::span<double> row) {
      for (std::size_t c = 0; c < width_; ++c) row[c] *= factors[c];
      turn_(row);
    });
    put(writer.node, writer.input, made, change);
  }

  void read(const StreamProduct& product, const Row& scale) {
    const Tensor old = value(product.weight.node, product.weight.input);
    const std::size_t axis = old.shape().size() - 1 - static_cast<std::size_t>(product.weight.from_end);
    const Tensor made = changed_along(old, axis, [&](std::span<double> row) {
      for (std::size_t c = 0; c < scale.size(); ++c) row[c] *= scale[c];
      turn_(row);
    });
    put(product.weight.node, product.weight.input, made, "read by " + product.layer);
  }

  void fill(const std::string& name, int input, float number) {
    const Tensor old = value(name, input);
    Tensor made(Dtype::Float32, old.shape());
    std::ranges::fill(made.mutable_floats(), number);
    put(name, input, made, "filled");
  }

  /// What the norm adds to its result, times the weight.
  void add_to_results(const StreamProduct& product, const Row& bias) {
    const Tensor weight = value(product.weight.node, product.weight.input);
    const std::size_t axis = weight.shape().size() - 1 - static_cast<std::size_t>(product.weight.from_end);
    const auto results = static_cast<std::size_t>(product.results);
    const onnx::NodeProto layer = node(product.layer);
    std::size_t inner = 1;
    for (std::size_t d = axis + 1; d < weight.shape().size(); ++d) inner *= static_cast<std::size_t>(weight.shape()[d]);
    const std::size_t per_result = static_cast<std::size_t>(weight.count()) / results;
    Row sums(results);
    for (std::size_t i = 0; i < weight.floats().size(); ++i) {
      // Channels before results: [width, results]. Else results come first, with a kernel behind the channels.
      const std::size_t result = axis == 0 ? i % results : i / per_result;
      sums[result] += static_cast<double>(weight.floats()[i]) * bias[i / inner % width_];
    }
    if (std::ranges::all_of(sums, [](double sum) { return sum == 0; })) return;
    if (layer.op_type() != "MatMul") {
      if (layer.input_size() > 2 && !layer.input(2).empty()) return add_to_constant(layer.name(), 2, sums);
      const std::string fresh = constant_of(layer.name() + ".bias", sums);
      onnx::NodeProto& changed = node(product.layer);
      if (changed.input_size() > 2) {
        changed.set_input(2, fresh);
      } else {
        changed.add_input(fresh);
      }
      return;
    }
    const std::string& output = layer.output(0);
    const auto reads_it = [&](const onnx::NodeProto& node) {
      return std::ranges::find(node.input(), output) != node.input().end();
    };
    const auto reader = counts_.at(output) == 1 ? std::ranges::find_if(graph().node(), reads_it) : graph().node().end();
    const onnx::NodeProto* behind = reader != graph().node().end() ? &*reader : nullptr;
    if (behind != nullptr && is_onnx(*behind, "Add")) {
      const int other = behind->input(0) == output ? 1 : 0;
      const std::optional<Tensor> added = initializer(model_, behind->input(other));
      const bool fits = added && added->dtype() == Dtype::Float32 &&
                        (added->shape().empty() || added->shape().back() == 1 ||
                         added->shape().back() == static_cast<std::int64_t>(results));
      if (fits) return add_to_constant(behind->name(), other, sums);
    }
    insert_behind(output, names_.unique(output + ".before_bias"), "Add", constant_of(layer.name() + ".bias", sums),
                  names_.unique(layer.name() + ".bias"));
  }

  void add_to_constant(const std::string& name, int input, const Row& sums) {
    const Tensor old = spread_along(value(name, input), 0, sums.size());
    Tensor made(Dtype::Float32, old.shape());
    for (std::size_t i = 0; i < made.floats().size(); ++i) {
      made.mutable_floats()[i] = static_cast<float>(static_cast<double>(old.floats()[i]) + sums[i % sums.size()]);
    }
    put(name, input, made, "bias of " + name);
  }

  std::string constant_of(const std::string& wanted, const Row& row) {
    const std::vector<float> values(row.begin(), row.end());
    return constant_of(wanted, Tensor::of({static_cast<std::int64_t>(values.size())}, values));
  }

  std::string constant_of(const std::string& wanted, const Tensor& value) {
    std::string name = names_.unique(wanted);
    set_initializer(model_, graph(), name, value);
    return name;
  }

  static onnx::NodeProto made_node(const char* op_type, const std::string& name, const std::string& data,
                                   const std::string& constant, const std::string& output) {
    onnx::NodeProto made;
    made.set_op_type(op_type);
    made.set_name(name);
    made.add_input(data);
    made.add_input(constant);
    made.add_output(output);
    return made;
  }

  /// What makes `tensor` makes `before`, and a node with a constant makes `tensor` of it.
  void insert_behind(const std::string& tensor, const std::string& before, const char* op_type,
                     const std::string& constant, const std::string& name) {
    for (int i = 0; i < graph().node_size(); ++i) {
      for (int o = 0; o < graph().node(i).output_size(); ++o) {
        if (graph().node(i).output(o) != tensor) continue;
        onnx::NodeProto maker = graph().node(i);
        maker.set_output(o, before);
        replace_node(graph(), i, {maker, made_node(op_type, name, before, constant, tensor)});
        return;
      }
    }
    throw Error(ErrorKind::Internal, "no layer computes this tensor of the residual stream: " + tensor);
  }

  void remove_factor(const std::string& name) {
    const onnx::NodeProto mul = node(name);
    const std::string& data = mul.input(is_initializer(model_, mul.input(0)) ? 1 : 0);
    rename_reads(graph(), mul.output(0), data);
    remove_nodes(graph(), [&](const onnx::NodeProto& each) { return each.name() == name; });
  }

  void cross(const StreamCrossing& crossing) {
    const std::string& tensor = crossing.tensor;
    const std::string mapped = names_.unique(tensor + ".turned");
    for (const std::string& name : crossing.mapped) {
      for (std::string& input : *node(name).mutable_input()) {
        if (input == tensor) input = mapped;
      }
    }
    const auto size = static_cast<std::int64_t>(width_);
    Tensor identity(Dtype::Float32, {size, size});
    for (std::size_t i = 0; i < width_; ++i) identity.mutable_floats()[i * width_ + i] = 1;
    const Tensor turn = changed_along(identity, 1, turn_);  // row i: e_i Q
    const std::string name = names_.unique(tensor + ".turn");
    if (crossing.starts) {
      const std::string matrix = constant_of(tensor + ".matrix", turn);
      const onnx::NodeProto product = made_node("MatMul", name, tensor, matrix, mapped);
      for (int i = 0; i < graph().node_size(); ++i) {
        if (std::ranges::find(graph().node(i).output(), tensor) == graph().node(i).output().end()) continue;
        replace_node(graph(), i, {graph().node(i), product});
        return;
      }
      put_first(graph(), product);
      return;
    }
    const auto norm = static_cast<std::size_t>(std::max(crossing.norm, 0));
    const Row scale = crossing.norm < 0 ? Row() : scales_[norm];
    const Row bias = crossing.norm < 0 ? Row() : biases_[norm];
    Tensor back(Dtype::Float32, {size, size});
    for (std::size_t i = 0; i < width_; ++i) {
      for (std::size_t j = 0; j < width_; ++j) {
        const double factor = scale.empty() ? 1 : scale[j];
        back.mutable_floats()[i * width_ + j] =
            static_cast<float>(static_cast<double>(turn.floats()[j * width_ + i]) * factor);
      }
    }
    const std::string matrix = constant_of(tensor + ".matrix", back);
    if (bias.empty() || std::ranges::all_of(bias, [](double value) { return value == 0; })) {
      return insert_behind(tensor, mapped, "MatMul", matrix, name);
    }
    const std::string product = names_.unique(tensor + ".before_bias");
    insert_behind(tensor, product, "Add", constant_of(tensor + ".bias", bias), names_.unique(tensor + ".bias"));
    insert_behind(product, mapped, "MatMul", matrix, name);
  }

  Model& model_;
  const ResidualStream& stream_;
  const ChannelMap& turn_;
  const std::size_t width_;
  NamePool names_;
  const std::map<std::string, int> counts_;  // of readers, before all changes
  std::map<std::pair<std::string, std::string>, std::string> copies_;
  std::vector<Row> scales_, biases_;  // of the norms
};

}  // namespace

void rotate_channels(Model& model, const ResidualStream& stream, const ChannelMap& turn) {
  StreamRotation(model, stream, turn).run();
}

void centre_channels(Model& model, const ResidualStream& stream) {
  const ChannelMap centre = [](std::span<double> row) {
    double mean = 0;
    for (const double value : row) mean += value / static_cast<double>(row.size());
    for (double& value : row) value -= mean;
  };
  StreamRotation(model, stream, centre).run_on_writers();
}

}  // namespace vernier
