#include "analysis/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <numeric>
#include <utility>

#include "analysis/batches.h"
#include "base/parallel.h"
#include "base/refuse.h"
#include "distributed/spread.h"
#include "engines/onnxruntime/runtime.h"
#include "model/parts.h"
#include "plan/one_copy.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

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

void pack_one(const SampleResult& result, Packer& packer) {
  packer.put(result.index);
  packer.put(result.outputs.size());
  for (const Tensor& output : result.outputs) packer.put(output);
  packer.put(result.outcomes);
  packer.put(result.recorder.errors);
  packer.put(result.recorder.ranges);
  packer.put(result.recorder.events);
  packer.put(result.recorder.shapes.size());
  for (const Shape& shape : result.recorder.shapes) packer.put(shape);
}

SampleResult unpack_one(Unpacker& unpacker) {
  SampleResult result;
  result.index = unpacker.get<std::size_t>();
  result.outputs.resize(unpacker.get<std::size_t>());
  for (Tensor& output : result.outputs) output = unpacker.get_tensor();
  result.outcomes = unpacker.get_vector<SampleOutcome>();
  result.recorder.errors = unpacker.get_vector<ErrorStats>();
  result.recorder.ranges = unpacker.get_vector<RangeStats>();
  result.recorder.events = unpacker.get_vector<RoundEvents>();
  result.recorder.shapes.resize(unpacker.get<std::size_t>());
  for (Shape& shape : result.recorder.shapes) shape = unpacker.get_vector<Shape::value_type>();
  return result;
}

void pack(const std::vector<SampleResult>& results, Packer& packer) {
  packer.put(results.size());
  for (const SampleResult& result : results) pack_one(result, packer);
}

std::vector<SampleResult> unpack(Unpacker& unpacker) {
  std::vector<SampleResult> results(unpacker.get<std::size_t>());
  for (SampleResult& result : results) result = unpack_one(unpacker);
  return results;
}

/// Subject::batch where the network allows it, else 1.
std::size_t samples_at_once(const Subject& subject, const Session& session, const std::vector<std::size_t>& order,
                            const Recorder& recorder) {
  const std::size_t batch = std::min(subject.batch, order.size());
  if (batch < 2) return 1;
  if (subject.batch_tried && subject.carries.empty()) return batch;
  std::string why = "each waits for the state of the one before";
  if (subject.carries.empty()) {
    std::vector<Sample> first;
    for (std::size_t i = 0; i < batch; ++i) first.push_back(feed_for(session, subject.samples->at(order[i]), {}));
    why = why_not_together(session, subject.model, first, recorder);
  }
  if (why.empty()) return batch;
  if (subject.one_by_one) subject.one_by_one(one_by_one_note(subject.batch, why));
  return 1;
}

/// run_together(), or one by one where that fails, as it then does for all groups that follow.
std::vector<std::vector<Tensor>> run_as_one_or_alone(const Session& session, const std::vector<Sample>& fed,
                                                     std::vector<Recorder>& recorders, const Together& together,
                                                     const std::function<std::vector<Recorder>()>& fresh,
                                                     std::atomic<bool>& alone) {
  if (fed.size() > 1 && !alone) {
    try {
      return run_together(session, fed, recorders, together);
    } catch (const Error& error) {
      // What histograms have counted of this batch cannot be taken back.
      if (error.kind() != ErrorKind::Backend || recorders.front().histograms != nullptr) throw;
      alone = true;
      recorders = fresh();
    }
  }
  std::vector<std::vector<Tensor>> outputs;
  for (std::size_t i = 0; i < fed.size(); ++i) outputs.push_back(session.run(fed[i], &recorders[i]));
  return outputs;
}

}  // namespace

Session Subject::session(const Model& any) const {
  return {runtime, any, {.optimize = optimizes(), .threads = 1, .integer_kernels = false, .any_outputs = true}};
}

bool Subject::optimizes() const {
  // The layouts that the runtime's optimizer chooses are those of the CPU.
  return optimize && runtime->gpu() == nullptr && small_enough_to_optimize(model);
}

void set_batch(Subject& subject, std::size_t batch) {
  subject.batch = batch;
  subject.batch_tried = false;
  subject.taking_turns = nullptr;
}

bool has_few_nodes(const Model& model) {
  const onnx::GraphProto& graph = model.proto.graph();
  return graph.node_size() <= kMostOptimizedNodes && graph.output_size() <= kMostOptimizedOutputs;
}

bool small_enough_to_optimize(const Model& model) {
  return bytes_beside(model) <= kOneCopyAbove && has_few_nodes(model);
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

Subject on_one_thread_helped(const Subject& subject, std::mutex& telling, SpareThreads& spare) {
  // Works beside each other are as many as threads: each starts those that may help it, most of which wait.
  constexpr std::size_t kMostHelping = 8;
  Subject helped = on_one_thread(subject, telling);
  helped.threads = std::min(subject.threads, kMostHelping);
  helped.spare = &spare;
  return helped;
}

void move_to_job_of(const Subject& job, Subject& network) {
  network.runtime = job.runtime;
  network.samples = job.samples;
  network.threads = job.threads;
  network.cpu_threads = job.cpu_threads;
  network.spare = job.spare;
  network.batch = job.batch;
  network.batch_tried = job.batch_tried;
  network.taking_turns = job.taking_turns;
  network.one_by_one = job.one_by_one;
  network.progress = job.progress;
  network.ranks = job.ranks;
}

std::optional<int> class_axis_of(const Subject& subject, const std::string& output) {
  const auto axis = subject.class_axes.find(output);
  return axis == subject.class_axes.end() ? std::nullopt : std::optional(axis->second.axis);
}

Picked picked_of(const Subject& subject, const std::string& output) {
  const auto picked = subject.picked.find(output);
  return picked == subject.picked.end() ? Picked::No : picked->second;
}

OutputStats& stats_of(std::map<std::string, OutputStats>& sums, const Subject& subject, const std::string& output) {
  const auto [entry, added] = sums.try_emplace(output);
  if (added) {
    entry->second.class_axis = class_axis_of(subject, output);
    entry->second.picked = picked_of(subject, output);
  }
  return entry->second;
}

SampleOutcome outcome_at(const Subject& subject, std::size_t output, const Tensor& reference, const Tensor& got) {
  const std::string& name = subject.judged[output];
  return outcome_of(reference, got, class_axis_of(subject, name), picked_of(subject, name));
}

std::vector<SampleOutcome> outcomes_of(const Subject& subject, std::span<const Tensor> reference,
                                       std::span<const Tensor> got) {
  std::vector<SampleOutcome> outcomes;
  for (std::size_t i = 0; i < subject.judged.size(); ++i) {
    outcomes.push_back(outcome_at(subject, i, reference[i], got[i]));
  }
  return outcomes;
}

void run_samples(const Subject& subject, const Session& session, const std::vector<std::size_t>& order,
                 const Recorder& recorder, const std::string& phase, const std::function<bool(SampleResult)>& take,
                 const SampleHooks& hooks) {
  Sample state = hooks.constants;
  const bool sequential = !subject.carries.empty();
  const bool runs_itself = hooks.run && !sequential;
  const bool batches = !runs_itself && (subject.batch_tried ? recorder.histograms == nullptr : hooks.constants.empty());
  const std::size_t batch = batches ? samples_at_once(subject, session, order, recorder) : 1;
  Together together{{}, subject.batch_tried ? subject.batch : 0};
  for (const auto& [name, value] : hooks.constants) together.shared.insert(name);
  std::atomic<bool> one_by_one = false;  // a batch of this session failed
  const auto work = [&](std::size_t turn) {
    const std::size_t first = turn * batch, count = std::min(batch, order.size() - first);
    std::vector<Sample> fed;
    const auto fresh = [&] {
      std::vector<Recorder> made(count, recorder);
      for (std::size_t i = 0; i < count; ++i) {
        made[i].sample = order[first + i];
        made[i].taking_turns = subject.taking_turns.get();
      }
      return made;
    };
    std::vector<Recorder> recorders = fresh();
    for (std::size_t i = 0; i < count; ++i) {
      fed.push_back(feed_for(session, subject.samples->at(order[first + i]), state));
    }
    std::vector<std::vector<Tensor>> outputs;
    try {
      if (runs_itself) {
        outputs.push_back(hooks.run(fed.front(), recorders.front()));
      } else {
        outputs = run_as_one_or_alone(session, fed, recorders, together, fresh, one_by_one);
      }
    } catch (const Error& error) {
      const std::string which = count == 1 ? fmt::format("sample {}", order[first])
                                           : fmt::format("samples {} to {}", order[first], order[first + count - 1]);
      throw placed(fmt::format("{}, {}", phase, which), error);
    }
    if (sequential) keep_state(session, subject.carries, outputs.front(), state);
    std::vector<SampleResult> results;
    for (std::size_t i = 0; i < count; ++i) {
      results.push_back({order[first + i], std::move(fed[i]), std::move(outputs[i]), {}, std::move(recorders[i])});
      if (hooks.digest) hooks.digest(results.back());
    }
    return results;
  };
  const auto taken = [&](std::size_t turn, std::vector<SampleResult> results) {
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (subject.progress) subject.progress(phase, turn * batch + i + 1, order.size());
      if (!take(std::move(results[i]))) return false;
    }
    return true;
  };
  const std::size_t turns = (order.size() + batch - 1) / batch;
  if (sequential) return parallel_ordered(turns, 1, work, taken);
  if (subject.spare != nullptr) return parallel_ordered(turns, subject.threads, work, taken, subject.spare);
  Ranks alone;
  spread_ordered(subject.ranks == nullptr ? alone : *subject.ranks, turns, subject.threads, work, taken, pack, unpack);
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
