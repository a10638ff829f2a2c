#include "analysis/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "base/parallel.h"
#include "distributed/spread.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr std::size_t kMostCopiedBytes = std::size_t{1} << 30U;
// Optimizing takes the runtime time in the square of the nodes, and in nodes times outputs: 50,000 nodes take it 20 s,
// and what measures their own errors has five times as many. A session without is built in parts (session.h).
constexpr int kMostOptimizedNodes = 5000;
constexpr int kMostOptimizedOutputs = 256;

/// The sample's tensors under the session's input names; the low half of a twin starts from the same state.
Sample feed_for(const Session& session, const Sample& sample, const Sample& state) {
  Sample feed;
  for (const std::string& name : session.input_names()) {
    if (const auto carried = state.find(name); carried != state.end()) {
      feed[name] = carried->second;
    } else if (const auto given = sample.find(name); given != sample.end()) {
      feed[name] = given->second;
    } else if (name.starts_with(kLow)) {
      if (const auto base = sample.find(name.substr(std::string(kLow).size())); base != sample.end()) {
        feed[name] = base->second;
      }
    }
  }
  return feed;
}

void keep_state(const Session& session, const std::vector<Carry>& carries, const std::vector<Tensor>& outputs,
                Sample& state) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& name = session.output_names()[i];
    for (const Carry& carry : carries) {
      if (name == carry.output) state[carry.input] = outputs[i];
      if (name == kLow + carry.output) state[kLow + carry.input] = outputs[i];
    }
  }
}

void pack(const SampleResult& result, Packer& packer) {
  packer.put(result.index);
  packer.put(result.outputs.size());
  for (const Tensor& output : result.outputs) packer.put(output);
  packer.put(result.recorder.errors);
  packer.put(result.recorder.ranges);
  packer.put(result.recorder.events);
  packer.put(result.recorder.shapes.size());
  for (const Shape& shape : result.recorder.shapes) packer.put(shape);
}

SampleResult unpack(Unpacker& unpacker) {
  SampleResult result;
  result.index = unpacker.get<std::size_t>();
  result.outputs.resize(unpacker.get<std::size_t>());
  for (Tensor& output : result.outputs) output = unpacker.get_tensor();
  result.recorder.errors = unpacker.get_vector<ErrorStats>();
  result.recorder.ranges = unpacker.get_vector<RangeStats>();
  result.recorder.events = unpacker.get_vector<RoundEvents>();
  result.recorder.shapes.resize(unpacker.get<std::size_t>());
  for (Shape& shape : result.recorder.shapes) shape = unpacker.get_vector<Shape::value_type>();
  return result;
}

}  // namespace

Session Subject::session(const Model& any) const {
  return {runtime, any, {.optimize = optimizes(), .threads = 1, .integer_kernels = false}};
}

bool Subject::optimizes() const { return optimize && small_enough_to_optimize(model); }

bool small_enough_to_optimize(const Model& model) {
  const onnx::GraphProto& graph = model.proto.graph();
  // An optimized session copies the weights.
  return bytes_beside(model) <= kMostCopiedBytes && graph.node_size() <= kMostOptimizedNodes &&
         graph.output_size() <= kMostOptimizedOutputs;
}

Subject on_one_thread(const Subject& subject, std::mutex& telling) {
  Subject alone = subject;
  alone.threads = 1;
  alone.ranks = nullptr;
  if (subject.progress) {
    alone.progress = [&subject, &telling](const std::string& phase, std::size_t done, std::size_t total) {
      const std::lock_guard lock(telling);
      subject.progress(phase, done, total);
    };
  }
  return alone;
}

OutputStats& stats_of(std::map<std::string, OutputStats>& sums, const Subject& subject, const std::string& output) {
  const auto [entry, added] = sums.try_emplace(output);
  if (const auto axis = subject.class_axes.find(output); added && axis != subject.class_axes.end()) {
    entry->second.class_axis = axis->second.axis;
  }
  return entry->second;
}

void run_samples(const Subject& subject, const Session& session, const std::vector<std::size_t>& order,
                 const Recorder& recorder, const std::string& phase, const std::function<bool(SampleResult)>& take,
                 const Sample& constants) {
  Sample state = constants;
  const bool sequential = !subject.carries.empty();
  const auto work = [&](std::size_t position) {
    SampleResult result;
    result.index = order[position];
    result.recorder = recorder;
    result.recorder.sample = result.index;
    result.fed = feed_for(session, subject.samples->at(result.index), state);
    try {
      result.outputs = session.run(*result.fed, &result.recorder);
    } catch (const Error& error) {
      throw Error(error.kind(), fmt::format("{}, sample {}: {}", phase, result.index, error.what()), error.hint());
    }
    if (sequential) keep_state(session, subject.carries, result.outputs, state);
    return result;
  };
  const auto taken = [&](std::size_t position, SampleResult result) {
    if (subject.progress) subject.progress(phase, position + 1, order.size());
    return take(std::move(result));
  };
  if (sequential) return parallel_ordered(order.size(), 1, work, taken);
  Ranks alone;
  spread_ordered(subject.ranks == nullptr ? alone : *subject.ranks, order.size(), subject.threads, work, taken, pack,
                 unpack);
}

Sample fed_for(const Subject& subject, const Session& session, const SampleResult& result) {
  return result.fed ? *result.fed : feed_for(session, subject.samples->at(result.index), {});
}

std::vector<std::size_t> all_samples(const Subject& subject) {
  std::vector<std::size_t> order(subject.samples->size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}

}  // namespace vernier
