// The edits of `vernier surgeon` that change what a model computes: a node more, weights pruned, dropped or made up.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "jobs/common/missing_weights.h"
#include "jobs/common/model_file.h"
#include "model/checker.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "model/passes/pass.h"
#include "model/raw_proto.h"
#include "model/sparsity.h"
#include "model/stripped_weights.h"
#include "model/subgraph.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"
#include "vernier/surgeon.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr const char* kSparse = "SPARSE_2_4";
// As in Polygraphy: shorter tables are sizes and indices more often than weights.
constexpr std::int64_t kLeastTable = 1024;
// What Polygraphy calls the output of a node that it puts behind a tensor: scripts go on with that name.
constexpr const char* kInsertedSuffix = "_polygraphy_surgeon_insert_output";
constexpr std::int64_t kMostElements = std::int64_t{1} << 30U;

template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view without(std::string_view text, std::string_view characters) {
  const std::size_t start = text.find_first_not_of(characters);
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(characters) - start + 1);
}

std::vector<std::string_view> items_of(std::string_view list) {
  std::vector<std::string_view> items;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    items.push_back(without(list.substr(0, comma), " "));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return items;
}

/// As Polygraphy reads it: a whole number, a number, a list in brackets, else a text, in quotes or not.
void set_parsed_attribute(onnx::NodeProto& node, const std::string& name, const std::string& given) {
  constexpr std::string_view kQuotes = "\"'";
  const std::string_view text = without(given, " ");
  const bool is_list = text.starts_with('[') && text.ends_with(']');
  const std::vector<std::string_view> items = is_list ? items_of(without(text, "[]")) : std::vector{text};
  std::vector<std::int64_t> integers;
  std::vector<float> numbers;
  for (const std::string_view item : items) {
    if (const auto value = whole_number<std::int64_t>(item)) integers.push_back(*value);
    if (const auto value = whole_number<double>(item)) numbers.push_back(static_cast<float>(*value));
  }
  if (integers.size() == items.size()) {
    return is_list ? set_attribute(node, name, integers) : set_attribute(node, name, integers.front());
  }
  if (numbers.size() == items.size()) {
    return is_list ? set_attribute(node, name, numbers) : set_attribute(node, name, numbers.front());
  }
  if (!is_list) return set_attribute(node, name, std::string(without(text, kQuotes)));
  set_attribute(node, name, std::string());
  onnx::AttributeProto& attribute = *std::ranges::find(*node.mutable_attribute(), name, &onnx::AttributeProto::name);
  attribute.clear_s();
  attribute.set_type(onnx::AttributeProto::STRINGS);
  for (const std::string_view item : items) attribute.add_strings(std::string(without(item, kQuotes)));
}

/// FNV-1a.
std::uint32_t name_seed(const std::string& name) {
  std::uint32_t seed = 2166136261U;
  for (const char c : name) seed = (seed ^ static_cast<unsigned char>(c)) * 16777619U;
  return seed;
}

/// Whether an output of the model depends on the node of that name.
bool is_needed(const Model& model, const std::string& node) {
  std::set<std::string> outputs;
  for (const InputInfo& output : model_outputs(model)) outputs.insert(output.name);
  const std::vector<int> needed = nodes_between(model, {}, outputs);
  return std::ranges::any_of(needed, [&](int index) { return model.proto.graph().node(index).name() == node; });
}

/// Initializers of the main graph that any values may replace: weights and biases of products, tables that Gather and
/// Slice read from, and constants of operators that ONNX does not know. Statistics, scales and sizes are none.
std::set<std::string> replaceable_weights(const Model& model) {
  const onnx::GraphProto& graph = model.proto.graph();
  std::map<std::string, const onnx::NodeProto*> producers;
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& output : node.output()) producers[output] = &node;
  }
  std::map<std::string, const onnx::TensorProto*> constants;
  for (const onnx::TensorProto& tensor : graph.initializer()) constants[tensor.name()] = &tensor;
  std::set<std::string> weights;
  const auto add = [&](const std::string& name, std::int64_t least) {
    const auto found = constants.find(name);
    if (found == constants.end()) return;
    const onnx::TensorProto& tensor = *found->second;
    if (tensor.data_type() == onnx::TensorProto::STRING || tensor.data_type() == onnx::TensorProto::UINT8) return;
    if (element_count({tensor.dims().begin(), tensor.dims().end()}) >= least) weights.insert(name);
  };
  for (const onnx::NodeProto& node : graph.node()) {
    const bool product =
        is_onnx(node, "Conv") || is_onnx(node, "ConvTranspose") || is_onnx(node, "Gemm") || is_onnx(node, "MatMul");
    if ((is_onnx(node, "Gather") || is_onnx(node, "Slice")) && node.input_size() > 0) add(node.input(0), kLeastTable);
    if (!product && !unknown_to_onnx(node)) continue;
    for (std::string name : node.input()) {
      for (auto from = producers.find(name); product && from != producers.end(); from = producers.find(name)) {
        const onnx::NodeProto& before = *from->second;
        const bool passes =
            is_onnx(before, "QuantizeLinear") || is_onnx(before, "DequantizeLinear") || is_onnx(before, "Transpose");
        if (!passes || before.input_size() == 0) break;
        name = before.input(0);
      }
      add(name, 1);
    }
  }
  return weights;
}

SurgeonResult started(const Model& model, const std::filesystem::path& output) {
  SurgeonResult result;
  result.output = output;
  result.nodes_before = static_cast<std::size_t>(model.proto.graph().node_size());
  result.nodes_after = result.nodes_before;
  return result;
}

}  // namespace

SurgeonResult insert_node(const InsertOptions& options, const JobSinks& sinks) {
  MissingWeights missing;
  Model model = missing.read(options.model, options.external_data_dir);
  SurgeonResult result = started(model, options.output);
  const bool was_wrong = checker_complaint(model).has_value();
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  NamePool names(model);

  std::map<std::string, int> producer;
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& output : graph.node(i).output()) producer[output] = i;
  }
  std::set<std::string> known;
  for (const InputInfo& input : model_inputs(model)) known.insert(input.name);
  known.merge(initializer_names(model));
  int behind = 0;  // the new node stands behind everything that it reads
  for (const std::string& input : options.inputs) {
    const auto found = producer.find(input);
    if (found != producer.end()) {
      behind = std::max(behind, found->second + 1);
    } else if (!known.contains(input)) {
      throw Error(ErrorCode::UnknownName, fmt::format("‹inputs›: the model has no tensor '{}'", printable(input)),
                  "‹vernier inspect model MODEL --show layers› lists them");
    }
  }
  onnx::NodeProto node;
  node.set_op_type(options.op_type);
  node.set_name(names.unique(options.name.empty() ? "vernier_inserted_" + options.op_type : options.name));
  for (const std::string& input : options.inputs) node.add_input(input);
  for (const auto& [name, value] : options.attributes) set_parsed_attribute(node, name, value);
  std::set<std::string> given_out;
  for (const InputInfo& output : model_outputs(model)) given_out.insert(output.name);
  for (const std::string& output : options.outputs) {
    const bool reads_it = std::ranges::find(options.inputs, output) != options.inputs.end();
    if (known.contains(output) && !reads_it) {
      throw Error(ErrorCode::BadValue,
                  fmt::format("‹outputs›: '{}' is an input or a constant of the model", printable(output)),
                  "name it in ‹inputs›, too, to put the node behind it");
    }
    if (reads_it && !given_out.contains(output)) {
      // The tensor keeps its name, and whoever read it reads what the new node makes of it.
      const std::string after = names.unique(output + kInsertedSuffix);
      rename_reads(graph, output, after);
      node.add_output(after);
      continue;
    }
    node.add_output(output);
    const auto found = producer.find(output);
    if (found == producer.end()) {
      throw Error(ErrorCode::UnknownName, fmt::format("‹outputs›: the model has no tensor '{}'", printable(output)),
                  "to put the node behind a tensor, name it in ‹inputs› and ‹outputs›");
    }
    // Who made it so far makes a tensor of another name; the new node may read that one.
    const std::string before = names.unique(output + "_before");
    for (std::string& made : *graph.mutable_node(found->second)->mutable_output()) {
      if (made == output) made = before;
    }
    for (std::string& input : *node.mutable_input()) {
      if (input == output) input = before;
    }
  }
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  for (int i = 0; i <= graph.node_size(); ++i) {
    if (i == behind) *nodes.Add() = node;
    if (i < graph.node_size()) *nodes.Add() = graph.node(i);
  }
  graph.mutable_node()->Swap(&nodes);
  for_each_graph(graph, [](onnx::GraphProto& inner) { inner.clear_value_info(); });
  // Reading sorts the nodes again, and refuses a cycle.
  Model sorted = adopt_model(whole_proto(model));
  sorted.data_files = model.data_files;
  model = std::move(sorted);
  result.inserted = InsertedNode{node.name(), node.op_type()};
  // Said, not refused: engines have operators that ONNX does not know.
  if (const auto complaint = checker_complaint(model); complaint && !was_wrong) {
    result.warnings.push_back({"checker-refuses-node", {{"error", first_line(*complaint)}}});
  }
  if (!is_needed(model, node.name())) {
    const std::vector<std::string> made(node.output().begin(), node.output().end());
    result.notes.push_back({"nothing-reads-it", {{"tensors", made}}});
  }
  // What was asked for stays, read or not.
  append(result.notes, passes::keep_nodes_for(model, {node.output().begin(), node.output().end()}).notes);
  result.nodes_after = static_cast<std::size_t>(model.proto.graph().node_size());
  for (const Note& note : result.warnings) sinks.warn(note);
  missing.put_back(model);
  result.model = given_model(std::move(model), options.output, options.external_data);
  return result;
}

SurgeonResult prune_weights(const WeightEditOptions& options) {
  Model model = read_model(options.model, options.external_data_dir);
  SurgeonResult result = started(model, options.output);
  EditedWeights& edited = result.weights.emplace();
  for (const SummedWeight& weight : summed_weights(model)) {
    const std::optional<Tensor> value = initializer(model, weight.name);
    if (const auto why = not_prunable(*value, weight.axis)) {
      edited.left.push_back({weight.name, weight.node, *why});
      continue;
    }
    if (is_2_of_4_sparse(*value, weight.axis)) continue;
    set_initializer(model, *model.proto.mutable_graph(), weight.name, pruned_2_of_4(*value, weight.axis));
    ++edited.count;
  }
  result.model = given_model(std::move(model), options.output, options.external_data);
  return result;
}

SurgeonResult strip_weights(const WeightEditOptions& options) {
  Model model = read_model(options.model, options.external_data_dir);
  SurgeonResult result = started(model, options.output);
  std::map<std::string, int> summed;
  for (const SummedWeight& weight : summed_weights(model)) summed[weight.name] = weight.axis;
  std::vector<std::string> names;
  for (const onnx::TensorProto& tensor : model.proto.graph().initializer()) names.push_back(tensor.name());
  for (const std::string& name : options.excluded) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::vector<std::string> near = nearest_names(name, names);
    throw Error(
        ErrorCode::UnknownName, fmt::format("‹exclude-list›: no initializer is named '{}'", printable(name)),
        near.empty() ? "‹vernier inspect model MODEL --show weights› lists them" : "nearest: " + list_some(near));
  }
  std::set<std::string> weights = replaceable_weights(model);
  for (const std::string& name : options.excluded) weights.erase(name);
  std::size_t stripped = 0;
  std::size_t bytes = 0;
  for (onnx::TensorProto& tensor : *model.proto.mutable_graph()->mutable_initializer()) {
    const std::string name = tensor.name();
    if (!weights.contains(name)) continue;
    const std::optional<Tensor> value = initializer(model, name);
    const auto axis = summed.find(name);
    const bool sparse =
        axis != summed.end() && !not_prunable(*value, axis->second) && is_2_of_4_sparse(*value, axis->second);
    onnx::TensorProto bare;
    bare.set_name(name);
    bare.set_data_type(tensor.data_type());
    *bare.mutable_dims() = tensor.dims();
    bare.set_doc_string(std::string(kWeightless) + (sparse ? kSparse : ""));
    tensor = bare;
    model.weights.erase(name);
    ++stripped;
    bytes += value->byte_size();
  }
  result.weights = EditedWeights{EditedWeights::Edit::Stripped, stripped, bytes, 0, {}};
  result.model = given_model(std::move(model), options.output, options.external_data);
  return result;
}

SurgeonResult reconstruct_weights(const WeightEditOptions& options) {
  onnx::ModelProto proto = read_raw_proto(options.model);
  std::set<std::string> sparse;
  std::size_t filled = 0;
  for (onnx::TensorProto& tensor : *proto.mutable_graph()->mutable_initializer()) {
    if (!is_stripped(tensor)) continue;
    const Shape shape(tensor.dims().begin(), tensor.dims().end());
    const auto dtype = static_cast<Dtype>(tensor.data_type());
    const std::string where = fmt::format("{}: initializer '{}'", options.model.name(), printable(tensor.name()));
    if (dtype_bits(dtype) < 8) {
      throw Error(ErrorCode::SampleValues, fmt::format("{}: values of {} cannot be made up", where, dtype_name(dtype)));
    }
    if (element_count(shape) > kMostElements) {
      throw Error(ErrorCode::SampleValues, fmt::format("{}: shape {} is beyond reason", where, shape_text(shape)));
    }
    if (tensor.doc_string().find(kSparse) != std::string::npos) sparse.insert(tensor.name());
    Tensor value(dtype, shape);
    // The same values for the same name everywhere: distributions differ between standard libraries, the engine not.
    std::mt19937 engine(name_seed(tensor.name()));
    const std::span<std::byte> to = value.mutable_bytes();
    const auto size = static_cast<std::size_t>(dtype_bits(dtype) / 8);
    for (std::size_t i = 0; i < to.size(); i += size) {
      const float unit = static_cast<float>(engine()) / 4294967296.0F - 0.5F;
      if (dtype == Dtype::Float32) {
        std::memcpy(to.data() + i, &unit, size);
      } else if (dtype == Dtype::Float64) {
        const double wide = unit;
        std::memcpy(to.data() + i, &wide, size);
      } else if (dtype == Dtype::BFloat16 || dtype == Dtype::Float16) {
        // Sign and a magnitude below one: any bits under the exponent of one are finite in both.
        const auto bits = static_cast<std::uint32_t>(engine());
        const auto half =
            static_cast<std::uint16_t>((bits & 0x8000U) | (bits % (dtype == Dtype::Float16 ? 0x3C00U : 0x3F80U)));
        std::memcpy(to.data() + i, &half, size);
      } else {
        to[i] = static_cast<std::byte>(engine() & 0x7FU);  // small integers
      }
    }
    tensor = proto_of(value, tensor.name());
    ++filled;
  }
  Model model = adopt_model(std::move(proto), !options.external_data_dir.empty() ? options.external_data_dir
                                              : options.model.in_memory()        ? options.model.folder()
                                                                                 : options.model.file().parent_path());
  for (const SummedWeight& weight : summed_weights(model)) {
    if (!sparse.contains(weight.name)) continue;
    const std::optional<Tensor> value = initializer(model, weight.name);
    if (not_prunable(*value, weight.axis)) continue;
    set_initializer(model, *model.proto.mutable_graph(), weight.name, pruned_2_of_4(*value, weight.axis));
  }
  SurgeonResult result = started(model, options.output);
  result.weights = EditedWeights{EditedWeights::Edit::Filled, filled, 0, sparse.size(), {}};
  result.model = given_model(std::move(model), options.output, options.external_data);
  return result;
}

}  // namespace vernier
