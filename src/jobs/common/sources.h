// Where the samples of a job come from: opened once for all models that take the same inputs, and read once for all
// that look at the same sample.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "model/model.h"
#include "vernier/measure.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"

namespace vernier {

/// Of one job: both arguments must outlive it.
class Sources {
 public:
  Sources(const MeasureOptions& options, const JobSinks& sinks);

  /// The samples for `model`. Models with equal inputs share one source: a script runs once, and yields the same to
  /// all. Errors: Input, as open_samples().
  std::shared_ptr<const SampleSource> samples(const Model& model);
  /// --calibration-data for `model`; null where there is none.
  std::shared_ptr<const SampleSource> calibration(const Model& model);

  const MeasureOptions& options() const { return options_; }
  const JobSinks& sinks() const { return sinks_; }

 private:
  struct Opened {
    std::vector<InputInfo> inputs;
    std::shared_ptr<const SampleSource> source;
  };
  std::shared_ptr<const SampleSource> open(const SourceOptions& source, const Model& model,
                                           std::vector<Opened>& opened);

  const MeasureOptions& options_;
  const JobSinks& sinks_;
  std::vector<Opened> samples_, calibration_;
};

/// The samples of `source` for `model`, for a job that opens them once by itself. Errors: Input, as open_samples().
std::shared_ptr<const SampleSource> samples_for(const Model& model, const SourceOptions& source, const JobSinks& sinks);

}  // namespace vernier
