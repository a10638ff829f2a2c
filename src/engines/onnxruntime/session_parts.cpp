#include "engines/onnxruntime/session_parts.h"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "base/refuse.h"
#include "engines/onnxruntime/generated_names.h"
#include "engines/onnxruntime/gpu_side.h"
#include "engines/onnxruntime/operator_libraries.h"
#include "engines/onnxruntime/operators.h"
#include "engines/onnxruntime/runnable_opset.h"
#include "engines/onnxruntime/runs_in_flight.h"
#include "engines/onnxruntime/session_setup.h"
#include "model/type_protos.h"
#include "plan/round_node.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using OwnedTypeInfo = Handle<OrtTypeInfo, &OrtApi::ReleaseTypeInfo>;

OwnedValue value_at(const Runtime& runtime, const OrtMemoryInfo* memory, const Tensor& like, void* bytes) {
  OrtValue* raw = nullptr;
  runtime.check(runtime.api().CreateTensorWithDataAsOrtValue(
      memory, bytes, like.byte_size(), like.shape().data(), like.shape().size(),
      static_cast<ONNXTensorElementDataType>(like.dtype()), &raw));
  return {runtime.api(), raw};
}

/// The runtime refuses a value for an initializer that it has already thrown away as unread.
void drop_unread_initializers(onnx::GraphProto& graph) {
  std::set<std::string> read;
  for (const onnx::NodeProto& node : graph.node()) read.merge(tensors_read(node));
  for (const onnx::ValueInfoProto& output : graph.output()) read.insert(output.name());
  auto& list = *graph.mutable_initializer();
  list.erase(std::remove_if(list.begin(), list.end(),
                            [&](const onnx::TensorProto& tensor) { return !read.contains(tensor.name()); }),
             list.end());
}

// Weights of at least this size are fed as inputs with each run of a session without optimizations: initializers some
// kernels pack into a layout of their own, and each session holds that copy (MatMul, measured: 1.31.1).
constexpr std::size_t kFedBytes = std::size_t{4} << 20U;
// On a GPU all sessions read the same copy of these, where initializers go over the bus for each session.
constexpr std::size_t kFedBytesOnGpu = std::size_t{1} << 20U;
// In parts that take turns on a GPU initializers would stay there.
constexpr std::size_t kFedBytesInTurns = std::size_t{1} << 12U;

/// Makes weights of the main graph from `least` bytes on inputs; their names.
std::set<std::string> feed_weights(onnx::ModelProto& proto, const Model& model, std::size_t least) {
  onnx::GraphProto& graph = *proto.mutable_graph();
  std::set<std::string> fed;
  google::protobuf::RepeatedPtrField<onnx::TensorProto> rest;
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
    const auto weight = model.weights.find(tensor.name());
    if (weight == model.weights.end() || weight->second.byte_size() < least) {
      rest.Add()->Swap(&tensor);
      continue;
    }
    fed.insert(tensor.name());
    add_input(graph, tensor);
  }
  graph.mutable_initializer()->Swap(&rest);
  return fed;
}

/// `in_turns`: with other parts.
Part part_from(const Runtime& runtime, const Places& places, const Model& model, const SessionOptions& options,
               bool in_turns) {
  const OrtApi& api = runtime.api();
  Part part;
  for (const onnx::ValueInfoProto& input : model.proto.graph().input()) part.inputs.push_back(input.name());
  for (const onnx::ValueInfoProto& output : model.proto.graph().output()) part.outputs.push_back(output.name());
  const OwnedOptions owned = runtime_options(runtime, options, model, in_turns);
  OrtSessionOptions* raw_options = owned.get();

  // Stubs of the main graph are handed over by name; bodies of If and Loop cannot take them, so theirs are put back.
  onnx::ModelProto proto = model.proto;
  drop_unread_initializers(*proto.mutable_graph());
  std::set<std::string> main_names;
  for (const onnx::TensorProto& tensor : proto.graph().initializer()) main_names.insert(tensor.name());
  for_each_graph(*proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
      const auto weight = model.weights.find(tensor.name());
      if (weight != model.weights.end() && !main_names.contains(tensor.name())) {
        tensor = proto_of(weight->second, tensor.name());
      }
    }
  });
  if (!options.ir_as_given) lower_to_runnable_opset(proto);
  if (!options.ir_as_given) proto.set_ir_version(portable_ir_version(proto));
  if (proto.opset_import_size() != 0) set_opset(proto, kDomain, kDomainVersion);
  std::vector<const char*> names;
  std::vector<const OrtValue*> values;
  std::set<std::string> fed;
  const bool on_gpu = static_cast<bool>(places.gpu);
  const std::size_t least = !on_gpu ? kFedBytes : in_turns ? kFedBytesInTurns : kFedBytesOnGpu;
  if (!options.optimize) fed = feed_weights(proto, model, least);
  for (const auto& [name, weight] : model.weights) {
    if (!main_names.contains(name)) continue;
    const auto kept = part.weights.emplace(name, weight).first;
    const bool is_fed = fed.contains(name);
    if (is_fed) {
      part.fed_names.push_back(kept->first.c_str());
      part.fed_weights.push_back(&kept->second);
      if (on_gpu && in_turns) continue;
    }
    if (is_fed && on_gpu) {
      part.weights_on_gpu.push_back(runtime.gpu()->copies().of(weight));
      part.weight_values.push_back(value_on_gpu(runtime, places.gpu.get(), weight, *part.weights_on_gpu.back()));
    } else {
      part.weight_values.push_back(value_of(runtime, places.cpu.get(), kept->second));
    }
    if (is_fed) {
      part.fed_values.push_back(part.weight_values.back().get());
      continue;
    }
    names.push_back(kept->first.c_str());
    values.push_back(part.weight_values.back().get());
    // Read in place only where no optimizer rewrites weights: it may transpose one and keep its name, and the runtime
    // would then read the untransposed bytes. With optimizations it copies each weight once a session.
    if (!options.optimize) runtime.check(api.AddInitializer(raw_options, names.back(), values.back()));
  }
  if (!names.empty())
    runtime.check(api.AddExternalInitializers(raw_options, names.data(), values.data(), names.size()));

  rename_generated(*proto.mutable_graph(), model.weights);
  for (const onnx::ValueInfoProto& output : proto.graph().output()) part.output_names.push_back(output.name());
  const std::string bytes = proto.SerializeAsString();
  OrtSession* raw = nullptr;
  try {
    runtime.check(api.CreateSessionFromArray(runtime.env(), bytes.data(), bytes.size(), raw_options, &raw));
  } catch (const Error& error) {
    const std::string path = model.path.empty() ? "model" : model.path.string();
    refuse_custom_operator(runtime, proto, path, error.what());
    throw placed(path, error);
  }
  part.session = OwnedSession(api, raw);
  return part;
}

/// While it lives, sessions that are built in turns get one arena together, which ends with the last of them. With one
/// each, every part keeps what its own runs took: eight threads on twelve parts of a ResNet-50 keep twice its weights.
class SharedArena {
 public:
  explicit SharedArena(const Runtime& runtime)
      : lock_(one_at_a_time()), runtime_(runtime), place_(cpu_memory(runtime)) {
    constexpr std::size_t kNoLimit = 0;
    constexpr int kAsRequested = 1, kDefault = -1;
    OrtArenaCfg* raw = nullptr;
    runtime.check(runtime.api().CreateArenaCfg(kNoLimit, kAsRequested, kDefault, kDefault, &raw));
    const Handle<OrtArenaCfg, &OrtApi::ReleaseArenaCfg> config(runtime.api(), raw);
    registered_ = done(runtime.api().CreateAndRegisterAllocator(runtime.env(), place_.get(), raw));
  }
  ~SharedArena() {
    if (registered_) done(runtime_.api().UnregisterAllocator(runtime_.env(), place_.get()));
  }
  SharedArena(const SharedArena&) = delete;
  SharedArena& operator=(const SharedArena&) = delete;

 private:
  /// The environment has room for one.
  static std::mutex& one_at_a_time() {
    static std::mutex mutex;
    return mutex;
  }

  bool done(OrtStatus* status) const {
    if (status != nullptr) runtime_.api().ReleaseStatus(status);
    return status == nullptr;
  }

  std::lock_guard<std::mutex> lock_;
  const Runtime& runtime_;
  OwnedMemoryInfo place_;
  bool registered_ = false;  // not where the program that loaded us has registered its own: parts then use that
};

/// Element types of what a part hands on: the next ones have to declare their inputs.
void add_output_types(const Runtime& runtime, const Part& part, std::map<std::string, Dtype>& types) {
  const OrtApi& api = runtime.api();
  for (std::size_t i = 0; i < part.outputs.size(); ++i) {
    OrtTypeInfo* raw = nullptr;
    runtime.check(api.SessionGetOutputTypeInfo(part.session.get(), i, &raw));
    const OwnedTypeInfo owned(api, raw);
    const OrtTensorTypeAndShapeInfo* info = nullptr;
    runtime.check(api.CastTypeInfoToTensorInfo(raw, &info));
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    if (info != nullptr) runtime.check(api.GetTensorElementType(info, &type));
    types[part.outputs[i]] = static_cast<Dtype>(type);
  }
}

void declare_inputs(onnx::GraphProto& graph, const std::map<std::string, Dtype>& types) {
  for (onnx::ValueInfoProto& input : *graph.mutable_input()) {
    if (input.has_type()) continue;
    input.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(types.at(input.name())));
  }
}

}  // namespace

OwnedMemoryInfo gpu_memory(const Runtime& runtime) {
  OrtMemoryInfo* raw = nullptr;
  runtime.check(runtime.api().CreateMemoryInfo("Cuda", OrtDeviceAllocator, runtime.gpu()->gpu().index(),
                                               OrtMemTypeDefault, &raw));
  return {runtime.api(), raw};
}

OwnedMemoryInfo cpu_memory(const Runtime& runtime) {
  OrtMemoryInfo* raw = nullptr;
  runtime.check(runtime.api().CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &raw));
  return {runtime.api(), raw};
}

OwnedValue value_of(const Runtime& runtime, const OrtMemoryInfo* memory, const Tensor& tensor) {
  // The runtime only reads inputs and initializers; its API has no const form.
  return value_at(runtime, memory, tensor, const_cast<std::byte*>(tensor.bytes().data()));
}

OwnedValue value_on_gpu(const Runtime& runtime, const OrtMemoryInfo* memory, const Tensor& tensor,
                        const GpuMemory& copy) {
  return value_at(runtime, memory, tensor, reinterpret_cast<void*>(copy.address()));
}

Part whole_part(const Runtime& runtime, const Places& places, const Model& model, const SessionOptions& options) {
  return part_from(runtime, places, model, options, /*in_turns=*/false);
}

std::vector<Part> parts_from(const Runtime& runtime, const Places& places, std::vector<ModelPart> models,
                             const SessionOptions& options) {
  const RunInFlight building(runtime);
  const bool in_turns = models.size() > 1;
  std::optional<SharedArena> arena;
  if (in_turns && !places.gpu) arena.emplace(runtime);
  std::vector<Part> parts;
  std::map<std::string, Dtype> types;
  for (ModelPart& each : models) {
    if (building.told_to_end()) throw Error(ErrorKind::Interrupted, "interrupted");
    declare_inputs(*each.model.proto.mutable_graph(), types);
    Part& made = parts.emplace_back(part_from(runtime, places, each.model, options, in_turns));
    made.last_reads = std::move(each.last_reads);
    add_output_types(runtime, made, types);
  }
  return parts;
}

bool hand_on_numbers(const Runtime& runtime, const std::vector<Part>& parts) {
  std::map<std::string, Dtype> types;
  for (const Part& part : parts) add_output_types(runtime, part, types);
  return std::ranges::none_of(types,
                              [](const auto& type) { return type.second == Dtype::String || type.second == Dtype{}; });
}

}  // namespace vernier
