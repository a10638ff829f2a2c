// What all measurements of one model share, and the loop that runs samples through a session.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "analysis/class_axis.h"
#include "analysis/output_part.h"
#include "analysis/requirement.h"
#include "base/progress.h"
#include "engines/onnxruntime/recorder.h"
#include "engines/onnxruntime/session.h"
#include "model/layers.h"
#include "model/model.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"

namespace vernier {

class Ranks;
class SpareThreads;

/// --carry OUT:IN: a state output that is fed back as an input of the next sample.
struct Carry {
  std::string output;
  std::string input;
};

struct Subject {
  std::shared_ptr<const Runtime> runtime;
  Model model;  // prepared
  std::vector<Layer> layers;
  const SampleSource* samples = nullptr;
  std::vector<Carry> carries;
  std::vector<std::string> judged;              // float outputs that are compared, in graph order
  std::vector<OutputPart> parts;                // of outputs, which are judged too and stand behind these in `judged`
  std::map<std::string, Picked> picked;         // of judged outputs, those with as many elements as scores decide
  std::map<std::string, ClassAxis> class_axes;  // of judged outputs, as far as it is known
  bool labelled = false;                        // the user has labels: what is judged is class scores
  std::size_t threads = 1;                      // samples that run side by side
  std::size_t cpu_threads = 1;                  // the same of sessions that stay on the CPU beside a GPU
  SpareThreads* spare = nullptr;                // all but the first of these only while it has one; null: always
  /// Samples that run as one where the network allows it (batches.h); `one_by_one` takes a warning where it does not.
  std::size_t batch = 1;
  /// That so many run as one was tried for the float network (choose_batch()): no session is tried again, and a group
  /// of fewer is filled up.
  bool batch_tried = false;
  std::shared_ptr<const std::set<Shape>> taking_turns;  // in batches of that size (Recorder::taking_turns)
  Warn one_by_one;
  bool optimize =
      true;  // graph optimizations of every session; never beyond 64 MiB of weights, 5,000 nodes or 256 outputs
  Progress progress;
  Ranks* ranks = nullptr;  // null: alone

  Session session(const Model& any) const;
  /// Whether session() lets the runtime optimize: decided by the model that all sessions of the job come from, so that
  /// all of them sum in the same order.
  bool optimizes() const;
};

/// Lets so many samples run as one, which each session tries first.
void set_batch(Subject& subject, std::size_t batch);

/// At most 5,000 nodes and 256 outputs: of more, the runtime and a search take too long over the whole graph.
bool has_few_nodes(const Model& model);
/// Whether it pays to let the runtime optimize a session of `model`.
bool small_enough_to_optimize(const Model& model);

/// `subject` for work on one thread of several, and without other ranks: its progress, too, is told to `subject` by one
/// thread at a time, which `telling` sees to. Both must outlive it.
Subject on_one_thread(const Subject& subject, std::mutex& telling);
/// The same, helped by threads that `spare` has.
Subject on_one_thread_helped(const Subject& subject, std::mutex& telling, SpareThreads& spare);

/// Gives `network`, of the same inputs and outputs, the samples, threads, ranks and progress of `job`.
void move_to_job_of(const Subject& job, Subject& network);

/// The sums of that output in `sums`, begun with its class axis where they are not there yet.
OutputStats& stats_of(std::map<std::string, OutputStats>& sums, const Subject& subject, const std::string& output);

/// Prefix of the tensors of the low half of a twin graph.
inline constexpr const char* kLow = "low/";

struct SampleResult {
  std::size_t index = 0;  // of the sample in the source
  /// What the session got: carried inputs hold the state of the sample before. Absent when another rank ran it.
  std::optional<Sample> fed;
  std::vector<Tensor> outputs;
  std::vector<SampleOutcome> outcomes;  // what a Digest made of them
  Recorder recorder;
};

/// Works on a result where its sample ran, beside other threads and ranks. What it drops need not travel to others: of
/// a detector the outputs of one sample are a megabyte, their outcomes some hundred bytes.
using Digest = std::function<void(SampleResult&)>;
/// The axis along which the rows of a judged output lie, as far as it is known.
std::optional<int> class_axis_of(const Subject& subject, const std::string& output);
Picked picked_of(const Subject& subject, const std::string& output);

/// What may be asked of run_samples() beyond running a session.
struct SampleHooks {
  Sample constants = {};  // fed with each sample
  Digest digest = {};
  /// What runs one sample in the place of Session::run(), where none is carried; empty: that.
  std::function<std::vector<Tensor>(const Sample& fed, Recorder& recorder)> run = {};
};

/// What one sample tells of `judged[output]`. Errors: as outcome_of().
SampleOutcome outcome_at(const Subject& subject, std::size_t output, const Tensor& reference, const Tensor& got);

/// What one sample tells of the judged outputs, in their order.
std::vector<SampleOutcome> outcomes_of(const Subject& subject, std::span<const Tensor> reference,
                                       std::span<const Tensor> got);

/// Runs the samples of `order` through `session`, each with a copy of `recorder`, and gives the results to `take` in
/// the order of `order`; `take` returns false to stop. With carried states one sample follows the other: outputs named
/// in `carries` (and "low/OUT" for "low/IN") feed the next sample, and every rank runs
/// them all; else each rank runs some, Subject::batch of them as one, or one by one where a hook runs them or a batch
/// of them fails, for want of memory say.
void run_samples(const Subject& subject, const Session& session, const std::vector<std::size_t>& order,
                 const Recorder& recorder, const std::string& phase, const std::function<bool(SampleResult)>& take,
                 const SampleHooks& hooks = {});

/// What was fed for `result`, whoever ran it.
Sample fed_for(const Subject& subject, const Session& session, const SampleResult& result);

/// 0, 1, ... of all samples.
std::vector<std::size_t> all_samples(const Subject& subject);

}  // namespace vernier
