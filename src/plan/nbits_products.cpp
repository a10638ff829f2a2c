#include "plan/nbits_products.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/nibbles.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "plan/weight_blocks.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Node = onnx::NodeProto;

constexpr const char* kMicrosoftDomain = "com.microsoft";
constexpr const char* kTransposed = "a Gemm reads the weight transposed";

Shape shape_of(const QdqGraph& graph, const std::string& tensor) {
  return graph.constant(tensor) ? graph.value(tensor)->shape() : graph.shape(tensor);
}

/// The DequantizeLinear of a weight in blocks of 4 bits along the dimension that `product` sums over; null: there is
/// none.
const Node* block_dequantizer(const QdqGraph& graph, const Node& product) {
  if (!is_onnx(product, "MatMul") && !is_onnx(product, "Gemm")) return nullptr;
  const Node* const weight = graph.dequantizer(product.input(1));
  if (weight == nullptr || !is_onnx(*weight, "DequantizeLinear") || !graph.constant(weight->input(0))) return nullptr;
  const auto params = graph.params(*weight);
  if (!params || (params->format != Format::Int4 && params->format != Format::UInt4)) return nullptr;
  // The kernel takes powers of two from 16 to 256.
  const int block = params->block;
  if (block < 16 || block > 256 || (block & (block - 1)) != 0) return nullptr;
  const auto rank = static_cast<int>(shape_of(graph, weight->input(0)).size());
  return params->axis == summed_axis(product, rank) ? weight : nullptr;
}

bool is_clip(const Node& node) { return is_onnx(node, "Relu") || is_onnx(node, "Clip"); }

/// The node that alone reads `tensor`; null: several do, or none.
const Node* only_reader(const QdqGraph& graph, const std::string& tensor) {
  const auto& readers = graph.readers(tensor);
  return readers.size() == 1 && !graph.is_output(tensor) ? readers.front() : nullptr;
}

/// ONNX Runtime looks for a QuantizeLinear behind a Relu or Clip that one node reads, and gives up without one.
bool clipped(const QdqGraph& graph, const std::string& tensor) {
  const Node* const reader = only_reader(graph, tensor);
  return reader != nullptr && is_clip(*reader) && only_reader(graph, reader->output(0)) != nullptr;
}

bool is_vector(const QdqGraph& graph, const std::string& tensor) { return shape_of(graph, tensor).size() == 1; }

bool has_bias(const Node& product) { return product.input_size() > 2 && !product.input(2).empty(); }

std::string why_gemm_expands(const QdqGraph& graph, const Node& gemm) {
  if (attribute_int(gemm, "transA", 0) != 0) return "a Gemm reads the data transposed (transA)";
  if (attribute_float(gemm, "alpha", 1) != 1) return "the alpha of the Gemm is not 1";
  if (!has_bias(gemm)) return {};
  if (attribute_float(gemm, "beta", 1) != 1) return "the beta of the Gemm is not 1";
  const Shape weight = shape_of(graph, graph.dequantizer(gemm.input(1))->input(0));
  const Shape wanted{weight[static_cast<std::size_t>(1 - summed_axis(gemm, 2))]};
  return shape_of(graph, gemm.input(2)) == wanted ? std::string() : "the bias of the Gemm is not a vector";
}

/// MatMul of two matrices and an Add become a Gemm first.
std::string why_matmul_expands(const QdqGraph& graph, const Node& matmul) {
  const Node* const add = only_reader(graph, matmul.output(0));
  if (graph.rank(matmul.input(0)) != 2U || add == nullptr || !is_onnx(*add, "Add")) return {};
  const std::string& other = add->input(add->input(0) == matmul.output(0) ? 1 : 0);
  if (!is_vector(graph, other)) return "the Add after it does not add a vector";
  return clipped(graph, add->output(0)) ? "a Relu or Clip follows" : std::string();
}

/// The transpose of a matrix in 4 bits.
std::vector<std::byte> transposed_nibbles(const Tensor& stored) {
  const auto rows = static_cast<std::size_t>(stored.shape()[0]), columns = static_cast<std::size_t>(stored.shape()[1]);
  std::vector<std::byte> codes(rows * columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      codes[j * rows + i] = static_cast<std::byte>(nibble(stored.bytes(), i * columns + j, /*is_signed=*/false));
    }
  }
  return packed_nibbles(codes);
}

Tensor with_bytes(Dtype dtype, const Shape& shape, std::span<const std::byte> bytes) {
  Tensor tensor(dtype, shape);
  std::memcpy(tensor.mutable_bytes().data(), bytes.data(), bytes.size());
  return tensor;
}

Tensor transposed(const Tensor& tensor) {
  const Shape shape{tensor.shape()[1], tensor.shape()[0]};
  if (dtype_bits(tensor.dtype()) == 4) return with_bytes(tensor.dtype(), shape, transposed_nibbles(tensor));
  const std::size_t width = static_cast<std::size_t>(dtype_bits(tensor.dtype())) / 8;
  const auto rows = static_cast<std::size_t>(shape[1]), columns = static_cast<std::size_t>(shape[0]);
  std::vector<std::byte> bytes(rows * columns * width);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      std::memcpy(&bytes[(j * rows + i) * width], &tensor.bytes()[(i * columns + j) * width], width);
    }
  }
  return with_bytes(tensor.dtype(), shape, bytes);
}

/// One row of bytes for each row of a matrix in 4 bits, as unsigned codes.
Tensor packed_rows(const Tensor& stored, Shape shape) {
  const auto rows = static_cast<std::size_t>(stored.shape()[0]), columns = static_cast<std::size_t>(stored.shape()[1]);
  const bool is_signed = stored.dtype() == Dtype::Int4;
  std::vector<std::byte> bytes;
  std::vector<std::byte> row(columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      row[j] = static_cast<std::byte>(nibble(stored.bytes(), i * columns + j, is_signed) + (is_signed ? 8 : 0));
    }
    const std::vector<std::byte> packed = packed_nibbles(row);
    bytes.insert(bytes.end(), packed.begin(), packed.end());
  }
  return with_bytes(Dtype::UInt8, shape, bytes);
}

/// The weight that products read through one DequantizeLinear.
struct BlockWeight {
  Node dequantizer;
  Dtype codes = Dtype::Int4;
  bool transposed = false;  // [outputs, inputs]
  std::vector<std::string> products;
  bool quantized_data = false;
};

class NBitsWriter {
 public:
  NBitsWriter(Model& typed, NamePool& names) : typed_(typed), names_(names), readers_(count_readers(typed)) {}

  NBitsProducts run() {
    std::vector<BlockWeight> transposed_only, packed;
    for (const QdqGraph& graph : QdqGraph::all_of(typed_)) sort_weights(graph, transposed_only, packed);
    for (const BlockWeight& weight : transposed_only) transpose(weight);
    for (const BlockWeight& weight : packed) pack(weight);
    if (counts_.written > 0) set_opset(typed_.proto, kMicrosoftDomain, 1);
    if (!transposed_only.empty() || !packed.empty()) {
      remove_initializers(typed_, gone_);
      index_initializers(typed_);
    }
    return counts_;
  }

 private:
  void sort_weights(const QdqGraph& graph, std::vector<BlockWeight>& transposed_only,
                    std::vector<BlockWeight>& packed) {
    std::set<std::string> seen;
    for (const Node& product : graph.graph().node()) {
      const Node* const dequantizer = block_dequantizer(graph, product);
      if (dequantizer == nullptr || !seen.insert(dequantizer->output(0)).second) continue;
      const std::string why = why_weight_expands(graph, product);
      if (why.empty()) continue;
      BlockWeight weight{*dequantizer, graph.value(dequantizer->input(0))->dtype(), false, {}, false};
      weight.transposed = graph.params(*dequantizer)->axis == 1;
      const auto& readers = graph.readers(dequantizer->output(0));
      const bool is_taken = std::ranges::all_of(readers, [&](const Node* reader) {
        return block_dequantizer(graph, *reader) == dequantizer && can_be_packed(graph, *reader);
      });
      if (!is_taken || !stands_alone(graph, *dequantizer)) {
        counts_.left += readers.size();
        continue;
      }
      for (const Node* reader : readers) {
        weight.products.push_back(reader->name());
        weight.quantized_data = weight.quantized_data || graph.dequantizer(reader->input(0)) != nullptr;
      }
      (why == kTransposed ? transposed_only : packed).push_back(std::move(weight));
    }
  }

  /// Nothing else reads the weight, its scales or its zero points.
  bool stands_alone(const QdqGraph& graph, const Node& dequantizer) const {
    return !graph.is_output(dequantizer.output(0)) && std::ranges::all_of(dequantizer.input(), [&](const auto& name) {
      return name.empty() || readers_.at(name) == 1;
    });
  }

  /// The operator has no factors, and its bias is a vector.
  static bool can_be_packed(const QdqGraph& graph, const Node& product) {
    const Dtype type = graph.value(graph.dequantizer(product.input(1))->input(1))->dtype();
    if (type != Dtype::Float32 && type != Dtype::Float16) return false;
    if (product.op_type() == "MatMul") return true;
    if (attribute_int(product, "transA", 0) != 0 || attribute_float(product, "alpha", 1) != 1) return false;
    if (!has_bias(product)) return true;
    if (attribute_float(product, "beta", 1) != 1) return false;
    if (!graph.constant(product.input(2))) return why_gemm_expands(graph, product).empty();
    const Shape shape = graph.value(product.input(2))->shape();
    return std::ranges::all_of(shape.begin(), shape.empty() ? shape.end() : shape.end() - 1,
                               [](std::int64_t size) { return size == 1; });
  }

  /// Gives the initializers of a weight, which nothing else reads, new values.
  void set_value(const std::string& name, const Tensor& value) {
    onnx::GraphProto& owner = *owner_of_initializer(typed_, name);
    set_initializer(typed_, owner, name, value);
  }

  void transpose(const BlockWeight& weight) {
    for (int i = 0; i < weight.dequantizer.input_size(); ++i) {
      const std::string& name = weight.dequantizer.input(i);
      if (!name.empty()) set_value(name, transposed(*initializer(typed_, name)));
    }
    onnx::GraphProto& main = *typed_.proto.mutable_graph();
    set_attribute(*find_node(main, weight.dequantizer.name()), "axis", std::int64_t{0});
    for (const std::string& product : weight.products)
      set_attribute(*find_node(main, product), "transB", std::int64_t{0});
  }

  void pack(const BlockWeight& weight) {
    const Node& dequantizer = weight.dequantizer;
    const auto by_output = [&](const std::string& name) {
      const Tensor value = initializer(typed_, name).value();
      return weight.transposed ? value : transposed(value);
    };
    const Tensor codes = by_output(dequantizer.input(0)), scale = by_output(dequantizer.input(1));
    const std::int64_t outputs = codes.shape()[0], inputs = codes.shape()[1], blocks = scale.shape()[1];
    const std::int64_t block = attribute_int(dequantizer, "block_size", 0);
    std::vector<std::string> read{dequantizer.input(0), dequantizer.input(1)};
    if (dequantizer.input_size() > 2 && !dequantizer.input(2).empty()) {
      const std::string& zero = dequantizer.input(2);
      // The operator's own zero point is 8, which a signed 0 becomes.
      if (weight.codes == Dtype::Int4 && all_zero(*initializer(typed_, zero))) {
        gone_.insert(zero);
      } else {
        set_value(zero, packed_rows(by_output(zero), {outputs, (blocks + 1) / 2}));
        read.push_back(zero);
      }
    } else if (weight.codes == Dtype::UInt4) {
      read.push_back(zeros(dequantizer, {outputs, (blocks + 1) / 2}));
    }
    set_value(dequantizer.input(0), packed_rows(codes, {outputs, blocks, block / 2}));
    set_value(dequantizer.input(1), scale);
    onnx::GraphProto& main = *typed_.proto.mutable_graph();
    for (const std::string& name : weight.products) {
      std::vector<std::pair<const char*, std::int64_t>> attributes{
          {"K", inputs}, {"N", outputs}, {"bits", 4}, {"block_size", block}};
      // As the optimizer writes it: data are rounded to INT8 in blocks, unless that would coarsen what a pair rounds.
      if (!weight.quantized_data) attributes.emplace_back("accuracy_level", 4);
      write_product(*find_node(main, name), read, attributes);
    }
    for_each_graph(main, [&](onnx::GraphProto& graph) {
      remove_nodes(graph, [&](const Node& node) { return node.name() == dequantizer.name(); });
    });
    ++counts_.dequantizers;
  }

  static bool all_zero(const Tensor& tensor) {
    return std::ranges::all_of(tensor.bytes(), [](std::byte byte) { return byte == std::byte{0}; });
  }

  std::string zeros(const Node& dequantizer, const Shape& shape) {
    const std::string name = names_.unique(dequantizer.output(0) + "_zero_point");
    add_initializer(typed_, *owner_of_initializer(typed_, dequantizer.input(0)), name, Tensor(Dtype::UInt8, shape));
    return name;
  }

  void write_product(Node& product, std::vector<std::string> read,
                     const std::vector<std::pair<const char*, std::int64_t>>& attributes) {
    const std::string bias = has_bias(product) ? product.input(2) : std::string();
    if (!bias.empty()) {
      read.resize(4);  // zero points and an order of the inputs may be absent
      read.push_back(bias_of(bias, attributes[1].second));
    }
    product.mutable_input()->DeleteSubrange(1, product.input_size() - 1);
    for (const std::string& name : read) product.add_input(name);
    product.set_op_type("MatMulNBits");
    product.set_domain(kMicrosoftDomain);
    product.clear_attribute();
    for (const auto& [name, value] : attributes) set_attribute(product, name, value);
    ++counts_.written;
  }

  /// The bias with a value for each output.
  std::string bias_of(const std::string& name, std::int64_t outputs) {
    const auto value = initializer(typed_, name);
    if (!value || value->shape() == Shape{outputs}) return name;
    const auto [known, fresh] = biases_.try_emplace({name, outputs});
    if (!fresh) return known->second;
    Tensor bias(value->dtype(), {outputs});
    const std::size_t width = static_cast<std::size_t>(dtype_bits(value->dtype())) / 8;
    for (std::size_t i = 0; i < static_cast<std::size_t>(outputs); ++i) {
      const std::size_t from = value->count() == 1 ? 0 : i;
      std::memcpy(&bias.mutable_bytes()[i * width], &value->bytes()[from * width], width);
    }
    if (readers_.at(name) == 1) gone_.insert(name);
    known->second = names_.unique(name + "_vector");
    add_initializer(typed_, *owner_of_initializer(typed_, name), known->second, bias);
    return known->second;
  }

  Model& typed_;
  NamePool& names_;
  std::map<std::string, int> readers_;  // as count_readers() has them
  NBitsProducts counts_;
  std::set<std::string> gone_;
  std::map<std::pair<std::string, std::int64_t>, std::string> biases_;  // by name and length
};

/// Cheap: types of large networks are inferred only where there is reason to.
bool may_have_block_weights(const Model& typed) {
  bool found = false;
  for_each_graph(typed.proto.graph(), [&](const onnx::GraphProto& graph) {
    found = found || std::ranges::any_of(graph.node(), [](const Node& node) {
              return is_onnx(node, "DequantizeLinear") && attribute_int(node, "block_size", 0) > 0;
            });
  });
  return found;
}

}  // namespace

std::string why_weight_expands(const QdqGraph& graph, const Node& product) {
  const Node* const weight = block_dequantizer(graph, product);
  if (weight == nullptr) return {};
  if (graph.readers(weight->output(0)).size() > 1) return "several layers read the weight";
  if (graph.dequantizer(product.input(0)) != nullptr) return "its data are quantized";
  if (std::ranges::any_of(graph.readers(product.output(0)), [](const Node* r) { return QdqGraph::quantizes(*r); })) {
    return "its result is quantized";
  }
  if (clipped(graph, product.output(0))) return "a Relu or Clip follows";
  if (product.op_type() == "MatMul") return why_matmul_expands(graph, product);
  const std::string why = why_gemm_expands(graph, product);
  return why.empty() && attribute_int(product, "transB", 0) != 0 ? kTransposed : why;
}

NBitsProducts write_nbits_products(Model& typed, NamePool& names) {
  return may_have_block_weights(typed) ? NBitsWriter(typed, names).run() : NBitsProducts{};
}

}  // namespace vernier
