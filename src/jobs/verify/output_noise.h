// The noise of a file's outputs on a few samples, and what is left of it once the file has other constants.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "analysis/output_store.h"
#include "analysis/some_samples.h"
#include "analysis/subject.h"
#include "model/model.h"
#include "vernier/note.h"
#include "vernier/tensor.h"

namespace vernier {

/// An output below is lost, whatever is required of it.
inline constexpr double kLostOutputDb = 20;

/// That defects were looked for on some of the samples alone.
Note not_examined_note(std::size_t examined, std::size_t samples);

class OutputNoise {
 public:
  static constexpr std::size_t kSamples = 8;

  /// Of `file`, a simulation brought beside the subject's model, on `most` samples, the first of `telling` among them.
  /// Subject and file must outlive it.
  OutputNoise(const Subject& subject, const Model& file, std::size_t most = kSamples,
              std::vector<std::size_t> telling = {});
  OutputNoise(const OutputNoise&) = delete;
  OutputNoise& operator=(const OutputNoise&) = delete;

  /// The subject with these samples, which this process runs alone.
  const Subject& subject() const { return subject_; }

  /// Noise over signal of the outputs of `model`; infinite: it does not run. Cost: one run of these samples; once more
  /// of the float model. Errors: Interrupted.
  double of(Model model);
  /// What is left of the noise of the file in `changed`. 1: all of it, infinite noise too; above 1: the file has what
  /// was changed to correct what its roundings do.
  double left_in(Model changed);
  /// The same with `values` in the place of a constant of the file; nullopt: it has no such constant.
  std::optional<double> left_with(const std::string& constant, const Tensor& values);

 private:
  const Model& file_;
  const FewSamples few_;
  Subject subject_;
  std::optional<OutputStore> known_;  // of the float model
  std::optional<double> of_file_;
};

}  // namespace vernier
