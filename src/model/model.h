// An ONNX model in memory. The graph structure stays a protobuf message; large weights live beside it as shared
// tensors, so that copying a model, which every candidate of a search does, costs no weights.
//
// Reading fixes the names (docs/contract.md, 3) before anything is rewritten, and checks what a file may not contain: a
// model is untrusted input.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.h"
#include "vernier/external_data.h"
#include "vernier/onnx_model.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {

struct InitializerIndex;
struct ModelNotes;

struct Model {
  /// Structure. Initializers of kWeightBytes or more are stubs here (name, type, dims, data_location EXTERNAL).
  onnx::ModelProto proto;
  /// The bytes of those stubs, by initializer name; names are unique over all subgraphs.
  std::map<std::string, Tensor> weights;
  std::vector<std::string> repeated_names;        // of the file, each of which several nodes had
  std::filesystem::path path;                     // or the name of a model in memory
  std::string sha256;                             // of the file, and of its external data
  std::vector<std::filesystem::path> data_files;  // that weights were read from; mapped as long as these live
  /// Documentation and metadata, where there is much of it: not in `proto`, and in the file again when it is written.
  std::shared_ptr<const ModelNotes> notes;
  /// Where the main graph's initializers stand; null: not known. The functions below keep it up to date or drop it;
  /// whoever adds, removes or renames initializers in the message itself must drop it. Copies share it until one
  /// changes.
  std::shared_ptr<InitializerIndex> index;
};

/// Lets `initializer` and `is_initializer` find names without looking through all of them.
void index_initializers(Model& model);

/// Initializers of at least this size leave the protobuf message.
inline constexpr std::size_t kWeightBytes = 1024;

/// Reads a model: parses, resolves external data inside the model's folder, or `external_data_dir`, sorts nodes, strips
/// initializers from the graph inputs (files of IR version 3 list them there), and gives every node a unique name.
/// Errors: Input, naming file and place: missing, truncated, not ONNX, malformed (well_formed.h), external data missing
/// or outside the folder, cyclic graph, a tensor that nothing produces. `progress`: of hashing external data.
Model read_model(const OnnxModel& source, const std::filesystem::path& external_data_dir = {},
                 const Progress& progress = {});

/// The same from a message already in memory; `folder` is where external data may lie.
Model adopt_model(onnx::ModelProto proto, const std::filesystem::path& folder = {});

struct WriteOptions {
  ExternalDataOptions external_data;
};
/// Writes to a temporary name, then renames. Weights beside the model never replace a file that the model's own were
/// read from. Errors: Usage for that, and for a file that does not lie in the model's folder; Input when the disk
/// refuses.
void write_model(const Model& model, const std::filesystem::path& path, const WriteOptions& options = {});

/// One self-contained message. Errors: Input when it would exceed protobuf's 2 GB.
onnx::ModelProto whole_proto(const Model& model);

/// Bytes of the weights beside the message.
std::size_t bytes_beside(const Model& model);
/// Weights beyond this fill a good part of a machine's memory: what measures a network holds no second copy of them,
/// neither an optimized session's nor rounded ones.
inline constexpr std::size_t kLargeWeights = std::size_t{1} << 30U;

/// The value of an initializer of the main graph or of any subgraph, wherever it is stored.
std::optional<Tensor> initializer(const Model& model, std::string_view name);
bool is_initializer(const Model& model, std::string_view name);

/// Adds or replaces an initializer of `graph` (a graph of `model`). Large ones go beside the message.
void set_initializer(Model& model, onnx::GraphProto& graph, const std::string& name, const Tensor& value);
/// The same for a name that no initializer has yet, which is not looked for.
void add_initializer(Model& model, onnx::GraphProto& graph, const std::string& name, const Tensor& value);
/// Of the main graph and of all bodies.
void remove_initializers(Model& model, const std::set<std::string>& names);

/// Graph inputs that a user feeds (initializers are not among them), and the graph's outputs.
std::vector<InputInfo> model_inputs(const Model& model);
std::vector<InputInfo> model_outputs(const Model& model);
std::vector<std::string> input_names(const Model& model);
std::vector<std::string> output_names(const Model& model);

/// Version of the default operator set; 0 when the model does not import it.
int default_opset(const onnx::ModelProto& proto);
void set_opset(onnx::ModelProto& proto, const std::string& domain, int version);

/// The lowest IR version that knows an opset (onnx/docs/Versioning.md).
int ir_version_of_opset(int opset);

/// The lowest IR version that says what `proto` says, as far as we read it: 10, which knows all our types, or what its
/// opset needs; 4 for older files, since read_model made their initializers no inputs. Exporters write their own newest
/// version, and an engine that is a few months older refuses the file for that number alone.
std::int64_t portable_ir_version(const onnx::ModelProto& proto);

/// Calls `visit` for the main graph and each subgraph (If, Loop, Scan bodies), parents first.
void for_each_graph(onnx::GraphProto& graph, const std::function<void(onnx::GraphProto&)>& visit);
void for_each_graph(const onnx::GraphProto& graph, const std::function<void(const onnx::GraphProto&)>& visit);

/// Every tensor that a node reads, those that bodies inside it capture or return included.
std::set<std::string> tensors_read(const onnx::NodeProto& node);

/// Element types and shapes of all tensors, from ONNX's own shape inference, main graph and subgraphs. Tensors it knows
/// nothing of are absent. Unknown dimensions are -1; a tensor of unknown rank has `rank_known` false.
struct ValueType {
  Dtype dtype = Dtype::Undefined;
  bool rank_known = false;
  Shape shape;
};
std::map<std::string, ValueType> infer_types(const Model& model);

/// Runs the ONNX checker (full: schemas and types) on all but outputs of unknown rank, which it refuses.
/// Errors: Internal when a model that we made is refused, with its text.
void check_written_model(const Model& model);

/// A name that no tensor, initializer or node of the model has: `wanted`, or with "#2", "#3" behind it.
class NamePool {
 public:
  explicit NamePool(const Model& model);
  std::string unique(const std::string& wanted);

 private:
  std::map<std::string, int, std::less<>> taken_;
};

/// TensorProto <-> Tensor. Errors: Input when the message's data does not fit its dims.
Tensor tensor_of(const onnx::TensorProto& proto);
onnx::TensorProto proto_of(const Tensor& tensor, const std::string& name);

/// Attribute access. `find_attribute` returns null when absent.
const onnx::AttributeProto* find_attribute(const onnx::NodeProto& node, std::string_view name);
std::int64_t attribute_int(const onnx::NodeProto& node, std::string_view name, std::int64_t fallback);
float attribute_float(const onnx::NodeProto& node, std::string_view name, float fallback);
std::vector<std::int64_t> attribute_ints(const onnx::NodeProto& node, std::string_view name);
void set_attribute(onnx::NodeProto& node, const std::string& name, std::int64_t value);
void set_attribute(onnx::NodeProto& node, const std::string& name, float value);
void set_attribute(onnx::NodeProto& node, const std::string& name, const std::string& value);
void set_attribute(onnx::NodeProto& node, const std::string& name, const std::vector<float>& values);
void set_attribute(onnx::NodeProto& node, const std::string& name, const std::vector<std::int64_t>& values);

}  // namespace vernier
