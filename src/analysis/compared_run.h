// The loop of every comparison over all samples: outputs of two networks, compared where a sample ran.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "analysis/requirement.h"
#include "analysis/subject.h"
#include "engines/onnxruntime/recorder.h"
#include "engines/onnxruntime/session.h"

namespace vernier {

struct ComparedRun {
  std::map<std::string, OutputStats> outputs;  // judged ones, by name
  /// Noise energy that each sample adds to the worst judged output, in the order of the samples: how hard it is.
  std::vector<double> sample_noise;
  Recorder seen;  // by operators, of all samples

  /// Of the judged outputs of one sample, in the order of Subject::judged.
  void add(const Subject& subject, std::size_t sample, const std::vector<SampleOutcome>& outcomes);
};

/// Runs all samples through `session`, each with a copy of `recorder`. `compare` makes outcomes of judged outputs, in
/// the order of Subject::judged, of what the session gives.
ComparedRun run_compared(const Subject& subject, const Session& session, const Recorder& recorder,
                         const std::string& phase, const Digest& compare);

}  // namespace vernier
