// Reading: what a file may not contain is refused here, and the names are fixed here, before any rewrite.

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/file.h"
#include "base/hash.h"
#include "base/near_files.h"
#include "base/refuse.h"
#include "base/text.h"
#include "model/external_data.h"
#include "model/model.h"
#include "model/naming.h"
#include "model/notes.h"
#include "model/raw_proto.h"
#include "model/sparse_constants.h"
#include "model/take_tensor.h"
#include "model/well_formed.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/onnx_model.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

/// Files of IR version 3 list initializers among the inputs: they then look like user inputs, and ONNX Runtime neither
/// folds nor fuses them.
void strip_initializers_from_inputs(onnx::GraphProto& graph) {
  std::unordered_set<std::string> names;
  for (const onnx::TensorProto& tensor : graph.initializer()) names.insert(tensor.name());
  auto& inputs = *graph.mutable_input();
  inputs.erase(std::remove_if(inputs.begin(), inputs.end(),
                              [&](const onnx::ValueInfoProto& value) { return names.contains(value.name()); }),
               inputs.end());
}

void leave_without_values(onnx::TensorProto& tensor) {
  tensor.clear_external_data();
  tensor.clear_data_location();
}

void move_weights_out(Model& model, ExternalData& external) {
  make_constants_dense(model.proto, [&](const onnx::TensorProto& proto) {
    return proto.data_location() == onnx::TensorProto::EXTERNAL ? external.read(proto) : tensor_of(proto);
  });
  for_each_graph(*model.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    for (int i = 0; i < graph.initializer_size(); ++i) {
      const onnx::TensorProto& proto = graph.initializer(i);
      const bool outside = proto.data_location() == onnx::TensorProto::EXTERNAL;
      const bool small = !outside && proto.ByteSizeLong() < kWeightBytes;
      if (proto.data_type() == onnx::TensorProto::STRING) continue;
      if (outside && external.ignored()) {
        leave_without_values(*graph.mutable_initializer(i));
        continue;
      }
      // Types that we have no name for (complex numbers) may be there as long as nothing needs their values.
      if (small && dtype_bits(static_cast<Dtype>(proto.data_type())) == 0) continue;
      const std::string name = proto.name();
      if (small) {
        tensor_of(proto);  // refuses what does not fit together
        continue;
      }
      const Tensor value = outside ? external.read(proto) : take_tensor(*graph.mutable_initializer(i));
      // By its place: looking for the name would take quadratic time over all weights.
      store_initializer(model, *graph.mutable_initializer(i), name, value);
    }
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
        if (attribute.has_t() && attribute.t().data_location() == onnx::TensorProto::EXTERNAL) {
          if (external.ignored()) {
            leave_without_values(*attribute.mutable_t());
            continue;
          }
          *attribute.mutable_t() = proto_of(external.read(attribute.t()), attribute.t().name());
        }
      }
    }
  });
}

void sort_graph(onnx::GraphProto& graph, std::unordered_set<std::string> known, const std::string& where) {
  for (const onnx::ValueInfoProto& value : graph.input()) known.insert(value.name());
  for (const onnx::TensorProto& tensor : graph.initializer()) known.insert(tensor.name());
  for (const onnx::SparseTensorProto& tensor : graph.sparse_initializer()) known.insert(tensor.values().name());

  std::unordered_map<std::string, int> producer;
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& output : graph.node(i).output()) {
      if (output.empty()) continue;
      if (known.contains(output) || !producer.emplace(output, i).second) {
        throw Error(ErrorCode::InvalidModel,
                    fmt::format("{}tensor '{}' is produced twice, the second time by node '{}'", where,
                                printable(output), printable(graph.node(i).name())));
      }
    }
  }
  std::vector<int> missing(static_cast<std::size_t>(graph.node_size()), 0);
  std::vector<std::vector<int>> readers(missing.size());
  for (int i = 0; i < graph.node_size(); ++i) {
    for (const std::string& name : tensors_read(graph.node(i))) {
      const auto from = producer.find(name);
      if (from != producer.end() && from->second != i) {
        ++missing[static_cast<std::size_t>(i)];
        readers[static_cast<std::size_t>(from->second)].push_back(i);
      } else if (from != producer.end()) {
        throw Error(ErrorCode::InvalidModel, fmt::format("{}node '{}' reads its own output '{}'", where,
                                                         printable(graph.node(i).name()), printable(name)));
      }
    }
    for (const std::string& name : graph.node(i).input()) {
      if (!name.empty() && !known.contains(name) && !producer.contains(name)) {
        throw Error(ErrorCode::InvalidModel,
                    fmt::format("{}node '{}' ({}) reads '{}', which nothing produces", where,
                                printable(graph.node(i).name()), printable(graph.node(i).op_type()), printable(name)));
      }
    }
  }
  // Smallest original index first: a sorted file keeps its order.
  std::set<int> ready;
  for (std::size_t i = 0; i < missing.size(); ++i) {
    if (missing[i] == 0) ready.insert(static_cast<int>(i));
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int next = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(next);
    for (const int reader : readers[static_cast<std::size_t>(next)]) {
      if (--missing[static_cast<std::size_t>(reader)] == 0) ready.insert(reader);
    }
  }
  if (order.size() != missing.size()) {
    const auto stuck = std::find_if(missing.begin(), missing.end(), [](int m) { return m > 0; });
    const onnx::NodeProto& node = graph.node(static_cast<int>(stuck - missing.begin()));
    throw Error(ErrorCode::InvalidModel, fmt::format("{}the graph has a cycle through node '{}' ({})", where,
                                                     printable(node.name()), printable(node.op_type())));
  }
  if (!std::is_sorted(order.begin(), order.end())) {
    google::protobuf::RepeatedPtrField<onnx::NodeProto> sorted;
    for (const int index : order) sorted.Add()->Swap(graph.mutable_node(index));
    graph.mutable_node()->Swap(&sorted);
  }
  for (const auto& [name, index] : producer) known.insert(name);
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) {
        sort_graph(*attribute.mutable_g(), known, fmt::format("{}body of '{}': ", where, printable(node.name())));
      }
    }
  }
  for (const onnx::ValueInfoProto& output : graph.output()) {
    if (!known.contains(output.name())) {
      throw Error(ErrorCode::InvalidModel,
                  fmt::format("{}graph output '{}' is produced by nothing", where, printable(output.name())));
    }
  }
}

/// Files may leave the shape of an output out, which ONNX's checker refuses: it is filled in where it can be inferred.
void give_outputs_a_shape(Model& model) {
  std::vector<onnx::TypeProto_Tensor*> without;
  std::vector<std::string> names;
  for (onnx::ValueInfoProto& output : *model.proto.mutable_graph()->mutable_output()) {
    if (!output.type().has_tensor_type() || output.type().tensor_type().has_shape()) continue;
    without.push_back(output.mutable_type()->mutable_tensor_type());
    names.push_back(output.name());
  }
  if (without.empty()) return;
  const std::map<std::string, ValueType> types = infer_types(model);
  for (std::size_t i = 0; i < without.size(); ++i) {
    const auto type = types.find(names[i]);
    if (type == types.end() || !type->second.rank_known) continue;
    onnx::TensorShapeProto& shape = *without[i]->mutable_shape();
    for (const std::int64_t dim : type->second.shape) {
      onnx::TensorShapeProto_Dimension& added = *shape.add_dim();
      if (dim >= 0) added.set_dim_value(dim);
    }
  }
}

/// A domain that is imported twice in the same version is imported once.
void drop_repeated_imports(onnx::ModelProto& proto) {
  std::set<std::string> domains;
  auto& imports = *proto.mutable_opset_import();
  imports.erase(
      std::remove_if(imports.begin(), imports.end(),
                     [&](const onnx::OperatorSetIdProto& import) { return !domains.insert(import.domain()).second; }),
      imports.end());
}

template <class Nodes>
void name_default_domain(Nodes& nodes) {
  for (onnx::NodeProto& node : nodes) {
    if (node.domain() == "ai.onnx") node.clear_domain();
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) name_default_domain(*attribute.mutable_g()->mutable_node());
      for (onnx::GraphProto& graph : *attribute.mutable_graphs()) name_default_domain(*graph.mutable_node());
    }
  }
}

/// ONNX's own domain is "" or "ai.onnx" (onnx.proto). All that is read has the first.
void name_default_domain(onnx::ModelProto& proto) {
  const auto name_imports = [](auto& imports) {
    for (onnx::OperatorSetIdProto& import : imports) {
      if (import.domain() == "ai.onnx") import.clear_domain();
    }
  };
  name_imports(*proto.mutable_opset_import());
  name_default_domain(*proto.mutable_graph()->mutable_node());
  for (onnx::FunctionProto& function : *proto.mutable_functions()) {
    name_imports(*function.mutable_opset_import());
    name_default_domain(*function.mutable_node());
  }
}

/// Types of tensors that the graph does not have say nothing, and every inference would carry them along.
void drop_types_of_strangers(onnx::GraphProto& graph) {
  std::unordered_set<std::string_view> names;
  for (const onnx::NodeProto& node : graph.node()) names.insert(node.output().begin(), node.output().end());
  for (const onnx::ValueInfoProto& input : graph.input()) names.insert(input.name());
  for (const onnx::TensorProto& tensor : graph.initializer()) names.insert(tensor.name());
  auto& values = *graph.mutable_value_info();
  values.erase(std::remove_if(values.begin(), values.end(),
                              [&](const onnx::ValueInfoProto& value) { return !names.contains(value.name()); }),
               values.end());
}

Model adopt(onnx::ModelProto proto, ExternalData external, Sha256* hash, const Progress& progress = {}) {
  if (!proto.has_graph() || (proto.graph().node_size() == 0 && proto.graph().output_size() == 0)) {
    throw Error(ErrorCode::NotAModel, "not an ONNX model: it has no graph");
  }
  if (const auto found = malformation_of(proto)) throw Error(ErrorCode::InvalidModel, found->message);
  Model model;
  model.proto = std::move(proto);
  drop_repeated_imports(model.proto);
  if (default_opset(model.proto) == 0 && model.proto.opset_import_size() == 0) set_opset(model.proto, "", 1);
  model.repeated_names = names_of_several_nodes(model.proto);
  fix_names(model.proto);
  model.notes = take_notes(model.proto);
  move_weights_out(model, external);
  model.data_files = external.files();
  if (hash != nullptr) external.add_to(*hash, progress);
  for_each_graph(*model.proto.mutable_graph(), drop_types_of_strangers);
  strip_initializers_from_inputs(*model.proto.mutable_graph());
  sort_graph(*model.proto.mutable_graph(), {}, "");
  give_outputs_a_shape(model);
  return model;
}

}  // namespace

namespace {

bool is_engine(std::span<const std::byte> bytes) {
  const std::string_view head(reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 4));
  return head == "ftrt" || head == "vtrt";
}

/// What a file is that starts like one of another kind; empty: not known.
std::string_view other_kind(std::span<const std::byte> bytes) {
  const std::string_view head(reinterpret_cast<const char*>(bytes.data()), std::min<std::size_t>(bytes.size(), 16));
  if (head.starts_with("PK\x03\x04")) return "an archive of arrays (.npz)";
  if (head.starts_with("\x93NUMPY")) return "an array (.npy)";
  if (head.starts_with("{") || head.starts_with("[")) return "JSON";
  if (head.starts_with("\x89PNG") || head.starts_with("\xff\xd8\xff")) return "an image";
  return {};
}

/// An ONNX message parsed; `where` for messages. `hash` may be null.
onnx::ModelProto parse(std::span<const std::byte> bytes, const std::string& where, Sha256* hash) {
  if (bytes.size() > 2'147'483'647U) {
    throw Error(ErrorCode::ModelTooLarge,
                fmt::format("{}: {} bytes, more than the 2 GB an ONNX file can hold", where, bytes.size()));
  }
  // Beside the parser: each takes a second for a few GB.
  std::future<void> hashed;
  if (hash != nullptr) hashed = std::async(std::launch::async, [&] { hash->update(bytes); });
  onnx::ModelProto proto;
  google::protobuf::io::ArrayInputStream array(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream stream(&array);
  stream.SetTotalBytesLimit(2'147'483'647);
  if (!proto.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    if (is_engine(bytes)) {
      throw Error(ErrorCode::NotAModel, fmt::format("{}: an engine of TensorRT, not an ONNX model", where),
                  "‹vernier run ENGINE --trt› runs it, ‹vernier inspect engine ENGINE› lists its kernels");
    }
    if (const std::string_view kind = other_kind(bytes); !kind.empty()) {
      throw Error(ErrorCode::NotAModel, fmt::format("{}: {}, not an ONNX model", where, kind),
                  "‹vernier inspect data FILE› shows saved arrays; models end in .onnx");
    }
    throw Error(ErrorCode::NotAModel,
                fmt::format("{}: not an ONNX model, or a truncated one ({} bytes)", where, bytes.size()));
  }
  if (hashed.valid()) hashed.get();
  if (proto.has_graph()) name_default_domain(proto);
  return proto;
}

/// The model's message, of a file or in memory; `hash` may be null.
onnx::ModelProto parse(const OnnxModel& model, Sha256* hash) {
  if (model.in_memory()) return parse(model.message(), printable(model.name()), hash);
  const fs::path& path = model.file();
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    throw Error(ErrorCode::FileMissing, fmt::format("{}: no such file", path.string()), near_files(path));
  }
  if (fs::is_directory(path, ignored)) {
    throw Error(ErrorCode::NotAModel, fmt::format("{}: a folder, not a model", path.string()),
                contents_text(path, ".onnx"));
  }
  return parse(MappedFile::open(path)->bytes(), path.string(), hash);
}

/// Where external data lie; nullopt: nowhere.
ExternalData data_of(const OnnxModel& model, const fs::path& external_data_dir) {
  if (!external_data_dir.empty()) return ExternalData(external_data_dir);
  if (!model.in_memory()) return ExternalData(model.file().parent_path(), model.file());
  return ExternalData(model.folder().empty() ? std::nullopt : std::optional(model.folder()));
}

}  // namespace

bool is_built_engine(const OnnxModel& model) {
  if (model.in_memory()) return is_engine(model.message());
  std::ifstream in = open_input(model.file());
  std::array<std::byte, 4> mark{};
  in.read(reinterpret_cast<char*>(mark.data()), mark.size());
  return in.gcount() == 4 && is_engine(mark);
}

void sort_nodes(onnx::GraphProto& graph) { sort_graph(graph, {}, ""); }

onnx::ModelProto read_raw_proto(const OnnxModel& model, std::string* sha256) {
  if (model.model() != nullptr) {
    onnx::ModelProto whole = whole_proto(*model.model());
    if (sha256 != nullptr) *sha256 = sha256_of(whole.SerializeAsString());
    return whole;
  }
  Sha256 hash;
  onnx::ModelProto proto = parse(model, &hash);
  if (sha256 != nullptr) *sha256 = hash.hex();
  return proto;
}

namespace {

Model read(const OnnxModel& source, ExternalData external, Sha256* hash, const Progress& progress = {}) {
  onnx::ModelProto proto = parse(source, hash);
  try {
    Model model = adopt(std::move(proto), std::move(external), hash, progress);
    model.path = source.name();
    return model;
  } catch (const Error& error) {
    throw placed(source.name(), error);
  }
}

}  // namespace

Model read_model(const OnnxModel& source, const fs::path& external_data_dir, const Progress& progress) {
  if (source.model() != nullptr) {
    Model model = *source.model();
    model.path = source.name();
    if (model.sha256.empty()) model.sha256 = sha256_of(source.bytes());
    return model;
  }
  Sha256 hash;
  Model model = read(source, data_of(source, external_data_dir), &hash, progress);
  model.sha256 = hash.hex();
  return model;
}

Model read_model_unhashed(const OnnxModel& source, const fs::path& external_data_dir) {
  if (source.model() != nullptr) return *source.model();
  return read(source, data_of(source, external_data_dir), nullptr);
}

Model read_model_without_external_data(const OnnxModel& source) {
  if (source.model() != nullptr) return *source.model();
  return read(source, ExternalData(std::nullopt, /*ignored=*/true), nullptr);
}

Model adopt_model(onnx::ModelProto proto, const fs::path& folder) {
  if (proto.has_graph()) name_default_domain(proto);
  return adopt(std::move(proto), ExternalData(folder), nullptr);
}

}  // namespace vernier
