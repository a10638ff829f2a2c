#include "jobs/run/live_run.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "analysis/batches.h"
#include "analysis/marked_outputs.h"
#include "analysis/surgery.h"
#include "base/refuse.h"
#include "base/text.h"
#include "engines/onnxruntime/runtime.h"
#include "plan/round_node.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

using Outputs = std::vector<std::pair<std::string, Dtype>>;

/// State outputs that nobody asked for come last, and are not given.
std::set<std::string> add_carried(Model& model, const std::vector<std::pair<std::string, std::string>>& carries) {
  std::set<std::string> given;
  for (const onnx::ValueInfoProto& output : model.proto.graph().output()) given.insert(output.name());
  std::set<std::string> added;
  const std::map<std::string, ValueType> types = infer_types(model);
  for (const auto& [output, input] : carries) {
    if (given.contains(output)) continue;
    const auto type = types.find(output);
    if (type == types.end()) {
      throw Error(ErrorCode::UnknownName, fmt::format("‹carry›: the model has no output '{}'", printable(output)));
    }
    add_output(model, output, type->second.dtype);
    added.insert(output);
  }
  return added;
}

template <class Number>
bool count_nonfinite(std::span<const std::byte> bytes, NonFinite& counts, bool (*is_nan)(Number),
                     bool (*is_infinite)(Number)) {
  const std::span<const Number> values(reinterpret_cast<const Number*>(bytes.data()), bytes.size() / sizeof(Number));
  counts.count = static_cast<std::int64_t>(values.size());
  counts.nan = std::count_if(values.begin(), values.end(), is_nan);
  counts.infinite = std::count_if(values.begin(), values.end(), is_infinite);
  return counts.nan + counts.infinite > 0;
}

const onnx::NodeProto* producer(const onnx::GraphProto& graph, const std::string& tensor) {
  const auto node = std::ranges::find_if(graph.node(), [&](const onnx::NodeProto& each) {
    return std::ranges::find(each.output(), tensor) != each.output().end();
  });
  return node == graph.node().end() ? nullptr : &*node;
}

/// The node whose work a tensor is: a Round in front of it belongs to the layer that it rounds.
const onnx::NodeProto* maker_of(const onnx::GraphProto& graph, const std::string& tensor) {
  const onnx::NodeProto* node = producer(graph, tensor);
  if (node == nullptr || node->domain() != kDomain || node->op_type() != "Round") return node;
  const onnx::NodeProto* behind = maker_of(graph, node->input(0));
  return behind == nullptr ? node : behind;
}

}  // namespace

bool find_nonfinite(const Tensor& tensor, NonFinite& counts) {
  switch (tensor.dtype()) {
    case Dtype::Float32:
      return count_nonfinite<float>(
          tensor.bytes(), counts, [](float v) { return std::isnan(v); }, [](float v) { return std::isinf(v); });
    case Dtype::Float64:
      return count_nonfinite<double>(
          tensor.bytes(), counts, [](double v) { return std::isnan(v); }, [](double v) { return std::isinf(v); });
    case Dtype::Float16:
      return count_nonfinite<std::uint16_t>(
          tensor.bytes(), counts, [](std::uint16_t v) { return (v & 0x7FFFU) > 0x7C00U; },
          [](std::uint16_t v) { return (v & 0x7FFFU) == 0x7C00U; });
    case Dtype::BFloat16:
      return count_nonfinite<std::uint16_t>(
          tensor.bytes(), counts, [](std::uint16_t v) { return (v & 0x7FFFU) > 0x7F80U; },
          [](std::uint16_t v) { return (v & 0x7FFFU) == 0x7F80U; });
    default:
      return false;
  }
}

std::size_t LiveRun::samples_at_once(std::size_t batch, const Warn& warn) const {
  if (batch > 1 && size() > 1) {
    warn(one_by_one_note(batch, is_sequence() ? "each waits for the one before" : "its runner takes one at a time"));
  }
  return 1;
}

std::vector<Iteration> LiveRun::together(std::size_t first, const std::vector<Sample>& samples) const {
  std::vector<Iteration> iterations;
  for (const Sample& sample : samples) iterations.push_back(of(first++, sample));
  return iterations;
}

NetworkRun::NetworkRun(std::string name, Model& model, std::shared_ptr<const SampleSource> samples,
                       std::vector<std::pair<std::string, std::string>> carries)
    : LiveRun(std::move(name), std::move(samples)),
      carries_(std::move(carries)),
      only_carried_(add_carried(model, carries_)) {}

Iteration NetworkRun::of(std::size_t index, Sample sample) const {
  for (const auto& [input, value] : state_) sample[input] = value;
  Iteration iteration;
  std::vector<NamedTensor> values;
  double seconds = 0;
  try {
    values = infer(sample, seconds);
  } catch (const Error& error) {
    throw placed(fmt::format("{}, iteration {}", name(), index), error);
  }
  iteration.seconds = seconds;
  for (NamedTensor& value : values) {
    for (const auto& [from, to] : carries_) {
      if (value.name == from) state_[to] = value.tensor;
    }
    if (!only_carried_.contains(value.name)) iteration.outputs.push_back(std::move(value));
  }
  return iteration;
}

SessionRun::SessionRun(std::string name, const std::shared_ptr<const Runtime>& runtime, Model model,
                       const SessionOptions& options, std::shared_ptr<const SampleSource> samples,
                       std::vector<std::pair<std::string, std::string>> carries)
    : NetworkRun(std::move(name), model, std::move(samples), std::move(carries)),
      runtime_(runtime),
      model_(std::move(model)),
      options_(options),
      session_(runtime_, model_, options_) {}

std::vector<NamedTensor> SessionRun::infer(const Sample& sample, double& seconds) const {
  const auto start = std::chrono::steady_clock::now();
  std::vector<Tensor> values = session_.run(sample);
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return named(std::move(values));
}

std::vector<NamedTensor> SessionRun::named(std::vector<Tensor> values) const {
  std::vector<NamedTensor> named;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].dtype() == Dtype::String) continue;  // SessionOptions::any_outputs: there are no values of it
    named.push_back({session_.output_names()[i], std::move(values[i])});
  }
  return named;
}

std::size_t SessionRun::samples_at_once(std::size_t batch, const Warn& warn) const {
  const std::size_t most = std::min(batch, size());
  if (most < 2 || is_sequence()) return LiveRun::samples_at_once(batch, warn);
  std::vector<Sample> first;
  for (std::size_t i = 0; i < most; ++i) first.push_back(samples().at(i));
  const std::string why = why_not_together(session_, model_, first, {});
  if (why.empty()) return most;
  warn(one_by_one_note(batch, why));
  return 1;
}

std::vector<Iteration> SessionRun::together(std::size_t first, const std::vector<Sample>& samples) const {
  if (samples.size() == 1) return {of(first, samples.front())};
  std::vector<Recorder> recorders(samples.size());
  std::vector<Iteration> iterations;
  try {
    for (std::vector<Tensor>& values : run_together(session_, samples, recorders)) {
      iterations.push_back({named(std::move(values)), {}});
    }
  } catch (const Error& error) {
    throw placed(fmt::format("{}, iterations {} to {}", name(), first, first + samples.size() - 1), error);
  }
  return iterations;
}

std::optional<NonFinite> SessionRun::first_nonfinite(std::size_t index) const {
  const Sample sample = samples().at(index);
  for (const auto& [name, tensor] : sample) {
    NonFinite found;
    if (!find_nonfinite(tensor, found)) continue;
    found.tensor = name;
    return found;
  }
  const Session session = with_every_tensor(model_);
  const std::vector<Tensor> values = session.run(sample);
  for (std::size_t i = 0; i < values.size(); ++i) {
    NonFinite found;
    if (!find_nonfinite(values[i], found)) continue;
    found.tensor = session.output_names()[i];
    return placed_in_layer(found);
  }
  return std::nullopt;
}

std::optional<NonFinite> SessionRun::overflow_inside(const JobSinks& sinks) const {
  const Session session = with_every_tensor(model_);
  std::optional<Session> exact;
  for (std::size_t index = 0; index < size(); ++index) {
    if (sinks.is_interrupted()) throw Error(ErrorKind::Interrupted, "interrupted");
    if (sinks.progress) sinks.progress("tensors inside", index + 1, size());
    const Sample sample = samples().at(index);
    const std::vector<Tensor> values = session.run(sample);
    NonFinite any;
    if (std::ranges::none_of(values, [&](const Tensor& value) { return find_nonfinite(value, any); })) continue;
    // Infinities that the float model has too, as in a mask, are meant.
    if (!exact) exact.emplace(with_every_tensor(without_rounds(model_)));
    std::map<std::string, Tensor> meant;
    std::vector<Tensor> exact_values = exact->run(sample);
    for (std::size_t i = 0; i < exact_values.size(); ++i) {
      meant.emplace(exact->output_names()[i], std::move(exact_values[i]));
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      NonFinite found, wanted;
      found.tensor = session.output_names()[i];
      if (!find_nonfinite(values[i], found)) continue;
      const auto in_float = meant.find(found.tensor);
      if (in_float == meant.end() || find_nonfinite(in_float->second, wanted)) continue;
      found.sample = index;
      return placed_in_layer(found);
    }
  }
  return std::nullopt;
}

Session SessionRun::with_every_tensor(Model model) const {
  OutputChoice everything;
  everything.names = {"*"};
  std::vector<std::string> unknown;
  set_outputs(model, choose_outputs(model_, everything, unknown));
  return Session(runtime_, model, options_);
}

NonFinite SessionRun::placed_in_layer(NonFinite found) const {
  if (const onnx::NodeProto* node = maker_of(model_.proto.graph(), found.tensor)) {
    found.layer = node->name();
    found.op_type = node->op_type();
  }
  return found;
}

std::string runner_name(const RunnerOptions& runner, bool on_engine, std::size_t index, std::time_t now) {
  constexpr std::array kWords = {"onnxrt", "sim", "trt-sim", "openvino", "exec"};
  const char* word = kWords.at(static_cast<std::size_t>(runner.kind));
  if (runner.kind == RunnerKind::TensorRt && on_engine) word = runner.weakly_typed ? "trt-weak" : "trt";
  return fmt::format("{}-runner-N{}-{:%m/%d/%y-%H:%M:%S}", word, index, fmt::localtime(now));
}

}  // namespace vernier
