// Independent samples that run as one: put together along the first dimension, and taken apart again. Who does so must
// get the answers of samples that run one by one, which is tried before anything rests on it.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engines/onnxruntime/recorder.h"
#include "engines/onnxruntime/session.h"
#include "model/model.h"
#include "vernier/note.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {

struct Subject;

/// Why `session` cannot run samples together, in words; empty: it can. `model` is what the session computes, or the
/// network that this came from: its inputs must leave the first dimension open, and no operator may be seen to work
/// across samples (model/across_samples.h). Then neighbours of equal shapes among `first`, the samples that the work
/// begins with, run one by one and as one, each with `recorder`: outputs must agree to 100 dB, and what our operators
/// saw in its counts and, within a hundred-thousandth, its ends and energies.
std::string why_not_together(const Session& session, const Model& model, const std::vector<Sample>& first,
                             const Recorder& recorder);

/// What run_together() does besides.
struct Together {
  /// Inputs that are the same for all samples: fed as they are.
  std::set<std::string> shared = {};
  /// A group of fewer samples is filled up to so many, and what comes of the added ones is dropped.
  std::size_t full = 0;
};

/// The outputs of each sample. Neighbours of equal shapes run as one, each with its own of `recorders`.
/// Errors: as Session::run().
std::vector<std::vector<Tensor>> run_together(const Session& session, const std::vector<Sample>& samples,
                                              std::span<Recorder> recorders, const Together& together = {});

/// Chooses how many samples run as one (Subject::batch) in all sessions of a job: thirteen, or a smaller prime where
/// that fails or more would not fit into memory; for a GPU, which idles in runs of one. A prime, because few other
/// sizes in a network are multiples of it: our operators find the samples of a batch by that (parts_in_run()). Outputs,
/// and the range of each layer, must be those of samples that run alone, to 80 dB: a GPU sums otherwise in products of
/// another size. Returns why samples run one by one, in words; empty: they do not.
std::string choose_batch(Subject& subject);

/// That a batch was asked for and samples run one by one.
Note one_by_one_note(std::size_t batch, const std::string& why);

}  // namespace vernier
