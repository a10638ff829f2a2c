#include "engines/onnxruntime/session.h"

#include <fmt/format.h>
#include <malloc.h>
#include <onnxruntime_session_options_config_keys.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "base/refuse.h"
#include "base/text.h"
#include "engines/onnxruntime/aborting_nodes.h"
#include "engines/onnxruntime/generated_names.h"
#include "engines/onnxruntime/gpu_side.h"
#include "engines/onnxruntime/operator_libraries.h"
#include "engines/onnxruntime/operators.h"
#include "engines/onnxruntime/optimizer_faults.h"
#include "engines/onnxruntime/providers.h"
#include "engines/onnxruntime/runnable_opset.h"
#include "engines/onnxruntime/runs_in_flight.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session_setup.h"
#include "model/parts.h"
#include "model/type_protos.h"
#include "plan/round_node.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/runs.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using OwnedSession = Handle<OrtSession, &OrtApi::ReleaseSession>;
using OwnedValue = Handle<OrtValue, &OrtApi::ReleaseValue>;
using OwnedTypeInfo = Handle<OrtTypeInfo, &OrtApi::ReleaseTypeInfo>;
using OwnedMemoryInfo = Handle<OrtMemoryInfo, &OrtApi::ReleaseMemoryInfo>;

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

OwnedValue value_at(const Runtime& runtime, const OrtMemoryInfo* memory, const Tensor& like, void* bytes) {
  OrtValue* raw = nullptr;
  runtime.check(runtime.api().CreateTensorWithDataAsOrtValue(
      memory, bytes, like.byte_size(), like.shape().data(), like.shape().size(),
      static_cast<ONNXTensorElementDataType>(like.dtype()), &raw));
  return {runtime.api(), raw};
}

/// A view of the tensor's bytes, which must outlive it.
OwnedValue value_of(const Runtime& runtime, const OrtMemoryInfo* memory, const Tensor& tensor) {
  // The runtime only reads inputs and initializers; its API has no const form.
  return value_at(runtime, memory, tensor, const_cast<std::byte*>(tensor.bytes().data()));
}

/// A view of the tensor's `copy`, which must outlive it.
OwnedValue value_on_gpu(const Runtime& runtime, const OrtMemoryInfo* memory, const Tensor& tensor,
                        const GpuMemory& copy) {
  return value_at(runtime, memory, tensor, reinterpret_cast<void*>(copy.address()));
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

/// Takes over a value that the runtime made; the tensor's handle keeps it alive.
/// With `any`, what is no tensor of numbers is an empty tensor.
Tensor tensor_from(const std::shared_ptr<const Runtime>& runtime, OrtValue* raw, const std::string& name, bool any) {
  const OrtApi& api = runtime->api();
  std::shared_ptr<OrtValue> owner(raw, [runtime](OrtValue* value) { runtime->api().ReleaseValue(value); });
  int is_tensor = 0;
  runtime->check(api.IsTensor(raw, &is_tensor));
  if (is_tensor == 0) {
    if (any) return {Dtype::String, {0}};
    throw Error(ErrorCode::NotMeasurable,
                fmt::format("output '{}' is not a tensor (sequence, map or absent optional)", name));
  }
  OrtTensorTypeAndShapeInfo* info = nullptr;
  runtime->check(api.GetTensorTypeAndShape(raw, &info));
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::size_t rank = 0;
  runtime->check(api.GetTensorElementType(info, &type));
  runtime->check(api.GetDimensionsCount(info, &rank));
  Shape shape(rank);
  runtime->check(api.GetDimensions(info, shape.data(), rank));
  api.ReleaseTensorTypeAndShapeInfo(info);
  if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    if (any) return {Dtype::String, {0}};
    throw Error(ErrorCode::NotMeasurable, fmt::format("output '{}' holds strings, which cannot be compared", name));
  }
  void* data = nullptr;
  runtime->check(api.GetTensorMutableData(raw, &data));
  return {static_cast<Dtype>(type), std::move(shape),
          std::shared_ptr<const std::byte>(owner, static_cast<const std::byte*>(data))};
}

// Weights of at least this size are fed as inputs with each run of a session without optimizations: initializers some
// kernels pack into a layout of their own, and each session holds that copy (MatMul, measured: 1.31.1).
constexpr std::size_t kFedBytes = std::size_t{4} << 20U;
// On a GPU all sessions read the same copy of these, where initializers go over the bus for each session.
constexpr std::size_t kFedBytesOnGpu = std::size_t{1} << 20U;

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

// Of fewer nodes too (session_setup.h).
constexpr int kTrimmedNodes = 1000;

/// A session of the runtime, and what it reads in place.
struct Part {
  std::map<std::string, Tensor> weights;
  std::vector<std::shared_ptr<const GpuMemory>> weights_on_gpu;  // of those that are fed
  std::vector<OwnedValue> weight_values;
  OwnedSession session;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> output_names;  // as the session has them
  std::vector<const char*> fed_names;     // weights that are inputs of the session
  std::vector<const OrtValue*> fed_values;
  std::vector<std::string> last_reads;  // tensors of parts before that are needed no more
};

using Values = std::map<std::string, OwnedValue>;

/// `on_gpu`: null where it runs on the CPU.
Part part_from(const Runtime& runtime, const OrtMemoryInfo* memory, const OrtMemoryInfo* on_gpu, const Model& model,
               const SessionOptions& options) {
  const OrtApi& api = runtime.api();
  Part part;
  for (const onnx::ValueInfoProto& input : model.proto.graph().input()) part.inputs.push_back(input.name());
  for (const onnx::ValueInfoProto& output : model.proto.graph().output()) part.outputs.push_back(output.name());
  const OwnedOptions owned = runtime_options(runtime, options, model);
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
  if (!options.optimize) fed = feed_weights(proto, model, on_gpu == nullptr ? kFedBytes : kFedBytesOnGpu);
  for (const auto& [name, weight] : model.weights) {
    if (!main_names.contains(name)) continue;
    const auto kept = part.weights.emplace(name, weight).first;
    if (on_gpu != nullptr && fed.contains(name)) {
      part.weights_on_gpu.push_back(runtime.gpu()->copies().of(weight));
      part.weight_values.push_back(value_on_gpu(runtime, on_gpu, weight, *part.weights_on_gpu.back()));
    } else {
      part.weight_values.push_back(value_of(runtime, memory, kept->second));
    }
    if (fed.contains(name)) {
      part.fed_names.push_back(kept->first.c_str());
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

struct Session::State {
  std::shared_ptr<const Runtime> runtime;
  OwnedMemoryInfo memory, on_gpu;  // the latter empty: runs on the CPU
  std::vector<Part> parts;         // one after the other
  bool all_numbers = true;         // between them
  bool any_outputs = false;        // SessionOptions::any_outputs
  bool trims = false;              // gives freed blocks back to the system
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> open_inputs;  // "x [?, 3, ?, ?]": those whose sizes the model leaves open

  using Copies = std::vector<std::shared_ptr<const GpuMemory>>;

  /// The inputs of a run, as the runtime reads them; `copies` are those on the GPU, for as long as it runs.
  Values values_of_inputs(const Sample& given, Copies& copies) const {
    Values live;
    for (const std::string& name : inputs) {
      const auto tensor = given.find(name);
      if (tensor == given.end())
        throw Error(ErrorCode::SampleNames, fmt::format("no value for the graph input '{}'", name));
      if (on_gpu && tensor->second.dtype() != Dtype::String) {
        copies.push_back(runtime->gpu()->copies().of(tensor->second));
        live[name] = value_on_gpu(*runtime, on_gpu.get(), tensor->second, *copies.back());
      } else {
        live[name] = value_of(*runtime, memory.get(), tensor->second);
      }
    }
    return live;
  }

  /// Runs one part: what it makes joins `live`, and what it was the last to read leaves.
  void run_part(const Part& part, const RunInFlight& running, Values& live) const {
    if (part.outputs.empty()) {  // behind the last output: the runtime wants one
      for (const std::string& name : part.last_reads) live.erase(name);
      return;
    }
    std::vector<const char*> input_names;
    std::vector<const OrtValue*> input_values;
    for (const std::string& name : part.inputs) {
      input_names.push_back(name.c_str());
      input_values.push_back(live.at(name).get());
    }
    input_names.insert(input_names.end(), part.fed_names.begin(), part.fed_names.end());
    input_values.insert(input_values.end(), part.fed_values.begin(), part.fed_values.end());
    std::vector<const char*> output_names;
    for (const std::string& name : part.output_names) output_names.push_back(name.c_str());
    std::vector<OrtValue*> made(output_names.size(), nullptr);
    try {
      runtime->check(runtime->api().Run(part.session.get(), running.options(), input_names.data(), input_values.data(),
                                        input_values.size(), output_names.data(), output_names.size(), made.data()));
    } catch (const Error& error) {
      if (running.told_to_end()) throw Error(ErrorKind::Interrupted, "interrupted");
      if (open_inputs.empty() || error.kind() != ErrorKind::Backend || !error.hint().empty()) throw;
      throw Error(
          error.kind(), error.what(),
          fmt::format("the model leaves sizes open: {}; if those it got do not fit together, give ‹input-shapes› "
                      "for random inputs, or real inputs with ‹data›",
                      list_some(open_inputs, 3)));
    }
    for (std::size_t i = 0; i < made.size(); ++i) live[part.outputs[i]] = OwnedValue(runtime->api(), made[i]);
    for (const std::string& name : part.last_reads) live.erase(name);
  }

  /// The graph's outputs, which all parts together left in `live`, where the values of `standing` are only looked at.
  std::vector<Tensor> take_outputs(Values& live, const Sample& standing = {}) const {
    std::vector<Tensor> tensors;
    for (const std::string& name : outputs) {
      if (const auto stands = standing.find(name); stands != standing.end()) {
        tensors.push_back(stands->second);
      } else if (auto value = live.extract(name)) {
        tensors.push_back(tensor_from(runtime, value.mapped().release(), name, any_outputs));
      } else {  // an output that is listed twice
        const auto first = std::ranges::find(outputs, name);
        tensors.push_back(tensors[static_cast<std::size_t>(first - outputs.begin())]);
      }
    }
    return tensors;
  }
};

Session::Session(std::shared_ptr<const Runtime> runtime, const Model& model, const SessionOptions& options)
    : state_(std::make_unique<State>()) {
  refuse_aborting_nodes(model);
  state_->runtime = runtime;
  state_->any_outputs = options.any_outputs;
  state_->memory = cpu_memory(*runtime);
  for (const onnx::ValueInfoProto& input : model.proto.graph().input()) state_->inputs.push_back(input.name());
  for (const onnx::ValueInfoProto& output : model.proto.graph().output()) state_->outputs.push_back(output.name());
  for (const InputInfo& input : model_inputs(model)) {
    if (std::ranges::all_of(input.shape, [](std::int64_t dim) { return dim >= 0; })) continue;
    state_->open_inputs.push_back(fmt::format("{} {}", printable(input.name), shape_text(input.shape)));
  }
  std::optional<GpuRun> gpu_run;  // kernels are made inside of one
  if (runs_on_gpu(*runtime, options, model.proto.graph())) {
    state_->on_gpu = gpu_memory(*runtime);
    gpu_run.emplace(runtime->gpu()->rooms());
  }
  const bool at_starts = options.part_starts.size() > 1;
  // What stands between parts would cross the bus.
  const bool in_parts = !gpu_run && level_of(options) == ORT_DISABLE_ALL && options.profile.empty() &&
                        (at_starts || static_cast<std::size_t>(model.proto.graph().node_size()) > options.part_nodes);
  if (!in_parts) {
    state_->parts.push_back(part_from(*runtime, state_->memory.get(), state_->on_gpu.get(), model, options));
  } else {
    const RunInFlight building(*runtime);
    std::map<std::string, Dtype> types;
    for (ModelPart& part : at_starts ? parts_at(model, options.part_starts) : parts_of(model, options.part_nodes)) {
      if (building.told_to_end()) throw Error(ErrorKind::Interrupted, "interrupted");
      declare_inputs(*part.model.proto.mutable_graph(), types);
      Part& made = state_->parts.emplace_back(part_from(*runtime, state_->memory.get(), nullptr, part.model, options));
      made.last_reads = std::move(part.last_reads);
      add_output_types(*runtime, made, types);
      state_->all_numbers = state_->all_numbers && std::ranges::none_of(made.outputs, [&](const std::string& name) {
                              return types.at(name) == Dtype::String || types.at(name) == Dtype{};
                            });
    }
  }
  // Optimizing leaves several times the weights in freed blocks, which the C library would keep, and so does the end of
  // a session. Small ones the next session takes again, which costs less than asking the system for them.
  state_->trims = bytes_beside(model) >= kTrimmedBytes || model.proto.graph().node_size() >= kTrimmedNodes;
  if (state_->trims) ::malloc_trim(0);
}

Session::~Session() {
  const bool trims = state_ != nullptr && state_->trims;
  state_.reset();
  if (trims) ::malloc_trim(0);
}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

const std::vector<std::string>& Session::input_names() const noexcept { return state_->inputs; }
const std::vector<std::string>& Session::output_names() const noexcept { return state_->outputs; }

std::vector<Tensor> Session::run(const Sample& inputs, Recorder* recorder) const {
  return run(inputs, std::span(recorder, recorder == nullptr ? 0 : 1));
}

std::vector<Tensor> Session::run(const Sample& inputs, std::span<Recorder> recorders) const {
  State::Copies copies;
  Values live = state_->values_of_inputs(inputs, copies);
  const RecorderScope scope(recorders);
  const RunInFlight running(*state_->runtime);
  std::optional<GpuRun> gpu_run;
  if (state_->on_gpu) gpu_run.emplace(state_->runtime->gpu()->rooms());
  for (const Part& part : state_->parts) state_->run_part(part, running, live);
  if (gpu_run) gpu_run->collect(recorders);
  return state_->take_outputs(live);
}

std::size_t Session::parts() const noexcept { return state_->parts.size(); }

bool Session::can_start_between() const noexcept { return state_->all_numbers; }

std::vector<Tensor> Session::run_from(const Standing* start, const Sample& inputs, Recorder* recorder,
                                      const std::function<void(Standing)>& keep) const {
  const Runtime& runtime = *state_->runtime;
  if (state_->on_gpu) return run(inputs, recorder);  // it has one part
  State::Copies none;
  Values live = state_->values_of_inputs(inputs, none);
  Sample standing;
  const auto stand = [&](const std::string& name, const Tensor& tensor) {
    standing[name] = tensor;
    live[name] = value_of(runtime, state_->memory.get(), standing[name]);
  };
  std::size_t first = 0;
  if (start != nullptr) {
    first = start->part;
    for (const auto& [name, tensor] : start->tensors) stand(name, tensor);
  }
  const RecorderScope scope(std::span(recorder, recorder == nullptr ? 0 : 1));
  const RunInFlight running(runtime);
  for (std::size_t p = first; p < state_->parts.size(); ++p) {
    const Part& part = state_->parts[p];
    state_->run_part(part, running, live);
    if (!keep || p + 1 == state_->parts.size()) continue;
    for (const std::string& name : part.last_reads) standing.erase(name);
    for (const std::string& name : part.outputs) {
      stand(name, tensor_from(state_->runtime, live[name].release(), name, /*any=*/false));
    }
    keep({p + 1, standing});
  }
  return state_->take_outputs(live, standing);
}

std::vector<Tensor> evaluate_exactly(const std::shared_ptr<const Runtime>& runtime, const Model& model,
                                     const Sample& inputs) {
  const Session session(runtime, model, {.optimize = false, .providers = {"CPU"}});
  return session.run(inputs);
}

Evaluator evaluator(const std::shared_ptr<const Runtime>& runtime) {
  return [runtime](const Model& model, const Sample& inputs) { return evaluate_exactly(runtime, model, inputs); };
}

}  // namespace vernier
