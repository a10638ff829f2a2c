#include "engines/onnxruntime/session.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/text.h"
#include "engines/cuda/gpu.h"
#include "engines/onnxruntime/aborting_nodes.h"
#include "engines/onnxruntime/gpu_run.h"
#include "engines/onnxruntime/gpu_side.h"
#include "engines/onnxruntime/runs_in_flight.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session_parts.h"
#include "engines/onnxruntime/session_setup.h"
#include "model/parts.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/runs.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

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

// Of fewer nodes too (session_setup.h).
constexpr int kTrimmedNodes = 1000;

// Each part on a GPU has handles of cuDNN and cuBLAS, which take some ten MiB outside of all limits.
constexpr std::size_t kMostPartsOnGpu = 64;

bool is_out_of_memory(const Error& error) { return error.code() == ErrorCode::OutOfMemory; }

}  // namespace

struct Session::State {
  std::shared_ptr<const Runtime> runtime;
  Places places;
  bool all_numbers = true;   // between parts
  bool any_outputs = false;  // SessionOptions::any_outputs
  bool trims = false;        // gives freed blocks back to the system
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> open_inputs;  // "x [?, 3, ?, ?]": those whose sizes the model leaves open

  /// What a session on a GPU is cut from where memory is short; null: it stays whole.
  struct Cuttable {
    Model model;
    SessionOptions options;
    std::size_t parts = 1;  // at least so many, twice as many with each cut
  };
  std::unique_ptr<Cuttable> cuttable;
  std::atomic<bool> has_run = false;

  using Parts = std::vector<Part>;  // one after the other
  std::shared_ptr<const Parts> current_parts() const {
    const std::lock_guard lock(cutting_);
    return parts_;
  }
  void set(Parts parts) { parts_ = std::make_shared<const Parts>(std::move(parts)); }

  bool on_gpu() const { return static_cast<bool>(places.gpu); }

  /// Makes the parts of a session on a GPU, more of them while memory is short. Errors: as Session(), OutOfMemory where
  /// no more parts help.
  void build_on_gpu(const Model& model, const SessionOptions& options);

  /// More parts than `tried`, which ran out of memory; false: there are no more.
  bool cut(const Parts* tried);

  /// Values of a run, as the runtime reads them; `copies` are those on the GPU, for as long as they are needed.
  struct Live {
    const Sample& given;
    RunValues values;
    std::map<std::string, std::shared_ptr<const GpuMemory>> copies;
  };

  void feed(const std::string& name, Live& live) const {
    const auto tensor = live.given.find(name);
    if (tensor == live.given.end())
      throw Error(ErrorCode::SampleNames, fmt::format("no value for the graph input '{}'", name));
    if (on_gpu() && tensor->second.dtype() != Dtype::String) {
      const auto& copy = live.copies[name] = runtime->gpu()->copies().of(tensor->second);
      live.values[name] = value_on_gpu(*runtime, places.gpu.get(), tensor->second, *copy);
    } else {
      live.values[name] = value_of(*runtime, places.cpu.get(), tensor->second);
    }
  }

  void feed_all(Live& live) const {
    for (const std::string& name : inputs) feed(name, live);
  }

  static void forget(const std::vector<std::string>& names, Live& live) {
    for (const std::string& name : names) {
      live.values.erase(name);
      live.copies.erase(name);
    }
  }

  /// Runs one part: what it makes joins `live`, and what it was the last to read leaves.
  void run_part(const Part& part, const RunInFlight& running, Live& live) const {
    if (part.outputs.empty()) return forget(part.last_reads, live);  // behind the last output: the runtime wants one
    std::vector<const char*> input_names;
    std::vector<const OrtValue*> input_values;
    for (const std::string& name : part.inputs) {
      if (!live.values.contains(name)) feed(name, live);
      input_names.push_back(name.c_str());
      input_values.push_back(live.values.at(name).get());
    }
    input_names.insert(input_names.end(), part.fed_names.begin(), part.fed_names.end());
    input_values.insert(input_values.end(), part.fed_values.begin(), part.fed_values.end());
    std::vector<std::shared_ptr<const GpuMemory>> copies;
    std::vector<OwnedValue> weights;
    for (std::size_t i = part.fed_values.size(); i < part.fed_weights.size(); ++i) {
      copies.push_back(runtime->gpu()->copies().of(*part.fed_weights[i]));
      weights.push_back(value_on_gpu(*runtime, places.gpu.get(), *part.fed_weights[i], *copies.back()));
      input_values.push_back(weights.back().get());
    }
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
    for (std::size_t i = 0; i < made.size(); ++i) live.values[part.outputs[i]] = OwnedValue(runtime->api(), made[i]);
    forget(part.last_reads, live);
  }

  std::vector<Tensor> run_parts(const Parts& parts, const Sample& given, std::span<Recorder> recorders) const;

  /// The graph's outputs, which all parts together left in `live`, where the values of `standing` are only looked at.
  std::vector<Tensor> take_outputs(RunValues& live, const Sample& standing = {}) const {
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

 private:
  mutable std::mutex cutting_;
  std::shared_ptr<const Parts> parts_;
};

void Session::State::build_on_gpu(const Model& model, const SessionOptions& options) {
  const GpuRun run(runtime->gpu()->rooms());  // kernels are made inside of one
  const auto nodes = static_cast<std::size_t>(model.proto.graph().node_size());
  const std::size_t all = bytes_beside(model), most = runtime->gpu()->bytes_of_weights();
  for (;; cuttable->parts *= 2) {
    try {
      const bool whole = cuttable == nullptr || (cuttable->parts == 1 && all <= most);
      if (whole) {
        Parts parts;
        parts.push_back(whole_part(*runtime, places, model, options));
        return set(std::move(parts));
      }
      const std::size_t each = (nodes + cuttable->parts - 1) / cuttable->parts;
      set(parts_from(*runtime, places, parts_of(model, std::max<std::size_t>(each, 1), most / 2), options));
      if (parts_->size() > 1) runtime->gpu()->was_cut_into(parts_->size());
      return;
    } catch (const Error& error) {
      if (!is_out_of_memory(error) || cuttable == nullptr || cuttable->parts >= std::min(nodes, kMostPartsOnGpu)) throw;
    }
  }
}

bool Session::State::cut(const Parts* tried) {
  const std::lock_guard lock(cutting_);
  if (parts_.get() != tried) return true;
  if (cuttable == nullptr) return false;
  const auto nodes = static_cast<std::size_t>(cuttable->model.proto.graph().node_size());
  if (cuttable->parts >= std::min(nodes, kMostPartsOnGpu)) return false;
  cuttable->parts *= 2;
  parts_ = nullptr;
  build_on_gpu(cuttable->model, cuttable->options);
  return true;
}

std::vector<Tensor> Session::State::run_parts(const Parts& parts, const Sample& given,
                                              std::span<Recorder> recorders) const {
  Live live{given, {}, {}};
  if (!on_gpu() || parts.size() == 1) feed_all(live);
  const RecorderScope scope(recorders);
  RunInFlight running(*runtime);
  std::optional<GpuRun> gpu_run;
  if (on_gpu()) gpu_run.emplace(runtime->gpu()->rooms());
  if (on_gpu() && parts.size() > 1) running.return_memory_of_gpu(runtime->gpu()->gpu().index());
  for (const Part& part : parts) run_part(part, running, live);
  if (gpu_run) gpu_run->collect(recorders);
  return take_outputs(live.values);
}

Session::Session(std::shared_ptr<const Runtime> runtime, const Model& model, const SessionOptions& options)
    : state_(std::make_unique<State>()) {
  refuse_aborting_nodes(model);
  state_->runtime = runtime;
  state_->any_outputs = options.any_outputs;
  state_->places.cpu = cpu_memory(*runtime);
  for (const onnx::ValueInfoProto& input : model.proto.graph().input()) state_->inputs.push_back(input.name());
  for (const onnx::ValueInfoProto& output : model.proto.graph().output()) state_->outputs.push_back(output.name());
  for (const InputInfo& input : model_inputs(model)) {
    if (std::ranges::all_of(input.shape, [](std::int64_t dim) { return dim >= 0; })) continue;
    state_->open_inputs.push_back(fmt::format("{} {}", printable(input.name), shape_text(input.shape)));
  }
  const bool may_be_cut = level_of(options) == ORT_DISABLE_ALL && options.profile.empty();
  const bool at_starts = options.part_starts.size() > 1;
  if (runs_on_gpu(*runtime, options, model.proto.graph())) {
    // What stands between parts crosses the bus, so a GPU has them for want of memory alone.
    state_->places.gpu = gpu_memory(*runtime);
    if (may_be_cut) state_->cuttable = std::make_unique<State::Cuttable>(State::Cuttable{model, options});
    state_->build_on_gpu(model, options);
  } else if (may_be_cut &&
             (at_starts || static_cast<std::size_t>(model.proto.graph().node_size()) > options.part_nodes)) {
    state_->set(parts_from(*runtime, state_->places,
                           at_starts ? parts_at(model, options.part_starts) : parts_of(model, options.part_nodes),
                           options));
    state_->all_numbers = hand_on_numbers(*runtime, *state_->current_parts());
  } else {
    State::Parts parts;
    parts.push_back(whole_part(*runtime, state_->places, model, options));
    state_->set(std::move(parts));
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
  State& state = *state_;
  const bool counts = std::ranges::any_of(recorders, [](const Recorder& each) { return each.histograms != nullptr; });
  if (state.on_gpu() && counts && !state.has_run) {
    // What histograms have counted cannot be taken back: more parts are found without them.
    std::vector<Recorder> trial(recorders.begin(), recorders.end());
    for (Recorder& each : trial) each.histograms = nullptr;
    run(inputs, trial);
  }
  for (;;) {
    std::shared_ptr<const State::Parts> parts = state.current_parts();
    try {
      if (parts == nullptr)
        throw Error(ErrorCode::OutOfMemory, "the GPU is out of memory: the network does not fit", kMoreGpuMemory);
      std::vector<Tensor> made = state.run_parts(*parts, inputs, recorders);
      state.has_run = true;
      return made;
    } catch (const Error& error) {
      // A smaller batch comes first.
      if (!is_out_of_memory(error) || counts || recorders.size() > 1) throw;
      const State::Parts* const tried = std::exchange(parts, nullptr).get();
      if (!state.cut(tried)) throw;
    }
  }
}

std::size_t Session::parts() const noexcept {
  const std::shared_ptr<const State::Parts> parts = state_->current_parts();
  return parts == nullptr ? 0 : parts->size();  // none where a GPU had no memory for them
}

bool Session::can_start_between() const noexcept { return state_->all_numbers; }

std::vector<Tensor> Session::run_from(const Standing* start, const Sample& inputs, Recorder* recorder,
                                      const std::function<void(Standing)>& keep) const {
  if (state_->on_gpu()) return run(inputs, recorder);
  const Runtime& runtime = *state_->runtime;
  const std::shared_ptr<const State::Parts> parts = state_->current_parts();
  State::Live live{inputs, {}, {}};
  state_->feed_all(live);
  Sample standing;
  const auto stand = [&](const std::string& name, const Tensor& tensor) {
    standing[name] = tensor;
    live.values[name] = value_of(runtime, state_->places.cpu.get(), standing[name]);
  };
  std::size_t first = 0;
  if (start != nullptr) {
    first = start->part;
    for (const auto& [name, tensor] : start->tensors) stand(name, tensor);
  }
  const RecorderScope scope(std::span(recorder, recorder == nullptr ? 0 : 1));
  const RunInFlight running(runtime);
  for (std::size_t p = first; p < parts->size(); ++p) {
    const Part& part = (*parts)[p];
    state_->run_part(part, running, live);
    if (!keep || p + 1 == parts->size()) continue;
    for (const std::string& name : part.last_reads) standing.erase(name);
    for (const std::string& name : part.outputs) {
      stand(name, tensor_from(state_->runtime, live.values[name].release(), name, /*any=*/false));
    }
    keep({p + 1, standing});
  }
  return state_->take_outputs(live.values, standing);
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
