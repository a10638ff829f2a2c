// Runs any plan of a search in one session. Roundings are switched at run time, and constants that plans differ in are
// inputs of the session, kept in each variant as the runtime's optimizer lays them out (blocked for its convolutions).
// Measured before it was chosen: a network in which weights are inputs runs as fast as one in which they are constants,
// with the same bits but for matrix products, which the runtime then does not pack ahead (1.31.1). The session runs in
// parts: a run begins behind what it has in common with one before it (kept_standings.h).
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "analysis/kept_standings.h"
#include "analysis/subject.h"
#include "analysis/trials.h"
#include "engines/onnxruntime/session.h"
#include "plan/lower_simulated.h"
#include "plan/plan.h"
#include "plan/switchable.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {

class SwitchedRuns {
 public:
  /// For the plans between `ends` of the subject's model. Null where one session cannot serve them: layers inside
  /// bodies, an engine's own sums, constants that the optimizer folds together, more nodes or outputs than are
  /// optimized (has_few_nodes), on a GPU too many weights; nor where a runtime that was never tested lays the network
  /// out in a way that gives something else. `shapes`: of its tensors, as a reference run saw them; there is a part for
  /// each `part_bytes` of them, twelve at most.
  static std::unique_ptr<SwitchedRuns> of(const Subject& subject, const std::vector<Plan>& ends,
                                          RoundedWeights& weights, const std::map<std::string, Shape>& shapes,
                                          std::size_t part_bytes = kPartBytes);
  /// Work of some 0.1 ms: what a part costs besides is a tenth of that.
  static constexpr std::size_t kPartBytes = std::size_t{1} << 19U;

  /// Whether they give what a session per trial gives: of `plan`, one of the ends, on the first sample. Sums in another
  /// order move roundings, so the two may differ by a tenth of the error of `plan` against another end. Cost: a session
  /// and three runs.
  bool gives_plain_results(const Subject& subject, const Plan& plan, const Plan& other_end,
                           RoundedWeights& weights) const;

  /// Visits the judged outputs as run_outputs() does; false, without a visit, when `plan` does not lie between the
  /// ends. `subject` is the one this was made of but for threads, ranks and progress. Safe from several threads.
  bool run(const Subject& subject, const Plan& plan, RoundedWeights& weights, const std::vector<std::size_t>& order,
           const VisitOutputs& visit) const;
  /// The same, of what `digest` makes of the judged outputs of each sample where it ran.
  bool run(const Subject& subject, const Plan& plan, RoundedWeights& weights, const std::vector<std::size_t>& order,
           const Digest& digest, const std::function<bool(SampleResult)>& take) const;

  /// What runs: the switchable graph as the runtime lays it out. Its inputs are those of the subject and the constants
  /// that plans differ in; its first outputs are the judged ones.
  const Model& model() const { return model_; }
  const SwitchableModel& graph() const { return graph_; }
  const Session& session() const { return session_; }
  /// The node of it at which each part begins.
  const std::vector<int>& part_starts() const { return part_starts_; }
  /// The first node of it that computes otherwise when `layer` alone is low; -1 where graph().alone() is absent.
  int place_of(const std::string& layer) const;
  /// Those constants, as a setting reads them.
  Sample constants(const SwitchableModel::Setting& setting) const;

 private:
  /// An initializer of the optimized graph that plans differ in.
  struct Fed {
    std::string node;  // of the prepared model
    std::vector<Tensor> variants;
  };
  SwitchedRuns(SwitchableModel graph, Model model, Session session, std::vector<int> part_starts,
               std::map<std::string, Fed> fed, std::map<std::string, int> places);
  static std::map<std::string, int> places_of(const SwitchableModel& graph, const onnx::GraphProto& laid,
                                              const std::map<std::string, Fed>& fed);
  /// What each part of the session is set to (KeptStandings::begin).
  std::vector<std::string> settings_of_parts(const SwitchableModel::Setting& setting) const;

  SwitchableModel graph_;
  Model model_;
  Session session_;
  std::vector<int> part_starts_;
  std::map<std::string, Fed> fed_;     // by input of the session
  std::map<std::string, int> places_;  // by layer
  struct Part {
    std::set<std::size_t> slots;
    std::set<std::string> fed;
  };
  std::vector<Part> parts_;                   // what is set in each
  std::unique_ptr<KeptStandings> standings_;  // null: there is one part
};

}  // namespace vernier
