// Lock-step comparison: reference and another model as two halves of one session, compared layer by layer while both
// tensors are warm.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "analysis/output_store.h"
#include "analysis/requirement.h"
#include "analysis/subject.h"
#include "analysis/surgery.h"
#include "engines/onnxruntime/session.h"

namespace vernier {

struct Lockstep {
  std::vector<ErrorStats> errors;              // one for each match; count 0: not compared
  std::map<std::string, OutputStats> outputs;  // judged outputs, by name
  /// Noise energy that each sample adds to the worst judged output, in the order of the samples: how hard it is.
  std::vector<double> sample_noise;
};

/// The run of lockstep(), its session built. `known`: what the judged outputs are compared with, where the subject is
/// a rewritten float model; null: the subject's own outputs. The arguments that it keeps must outlive it.
class LockstepRun {
 public:
  LockstepRun(const Subject& subject, const Model& low, const std::vector<Match>& matches,
              const OutputStore* known = nullptr);
  Lockstep run() const;

 private:
  const Subject& subject_;
  const OutputStore* known_;
  std::size_t matches_;
  Session session_;
};

/// Runs all samples through both. `matches` pairs tensors of subject.model and `low`.
/// Cost: about 4 plain inferences a sample. Memory: does not grow with layers or samples.
Lockstep lockstep(const Subject& subject, const Model& low, const std::vector<Match>& matches);

/// Pairs of equal names: the outputs of all layers that do arithmetic.
std::vector<Match> match_layer_outputs(const Subject& subject);

}  // namespace vernier
