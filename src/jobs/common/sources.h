// What a job reads: model files and samples. Each is read once, however many of its steps ask for it: a job prepares a
// network for its scripts, measures it, and verifies what it wrote, all of one reading, and a script of samples runs
// once.
#pragma once

#include <cstddef>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/output_part.h"
#include "base/progress.h"
#include "model/model.h"
#include "model/prepare.h"
#include "vernier/measure.h"
#include "vernier/onnx_model.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"

namespace vernier {

class Runtime;

/// Turns a job's sinks into the progress of what it calls: throws Error{Interrupted} when the user asked to stop.
Progress progress_of(const JobSinks& sinks);

/// Of one job, on one thread. A file that changes while the job runs is not looked at again.
class Sources {
 public:
  /// Both must outlive it.
  Sources(const MeasureOptions& options, const JobSinks& sinks);
  /// With the samples and models of `read`, which are not read again, for a job within its job.
  Sources(const Sources& read, const JobSinks& sinks);
  Sources(const Sources&) = delete;
  Sources& operator=(const Sources&) = delete;

  /// The model of `source`. Errors: Input, as read_model().
  std::shared_ptr<const Model> model(const OnnxModel& source);

  /// From here on `model` is what `source` holds.
  void set_model(const OnnxModel& source, Model model);

  /// The model of `source`, prepared. What was prepared last is kept for who asks for the same next. With
  /// `options.inline_ifs` all samples of the job are shown, whatever the options say of them. Errors: as prepare().
  std::shared_ptr<const Prepared> prepared(const OnnxModel& source, PrepareOptions options);

  /// Whoever holds a model or a prepared one keeps it; a step that asks again reads again.
  void forget_models();

  /// The samples for `model`. Models with equal inputs share one source: a script runs once, and yields the same to
  /// all. Errors: Input, as open_samples().
  std::shared_ptr<const SampleSource> samples(const Model& model) { return open(options_.data, model, samples_); }
  /// --calibration-data for `model`; null where there is none.
  std::shared_ptr<const SampleSource> calibration(const Model& model);

  /// ONNX Runtime with the custom operators of the job. Errors: as Runtime::load().
  const std::shared_ptr<const Runtime>& runtime();
  /// Begins to load it beside what comes next, which reads models. Errors are told by runtime().
  void load_runtime_ahead();
  /// With ‹device› auto: runtime() is from here on that of a GPU, if there is one that works and `pays` says so, on
  /// every rank. It is asked once a job, and only where there may be a GPU. What is missing for a GPU is told, and no
  /// error. All ranks must call it.
  void choose_device(const std::function<bool()>& pays);

  /// The parts of the judged outputs, once they are known: a job judges the same ones on all of its samples.
  std::optional<std::vector<OutputPart>> output_parts;

  const MeasureOptions& options() const { return options_; }
  const JobSinks& sinks() const { return sinks_; }

 private:
  /// With ‹device› auto: a runtime on the GPU of this rank; null where there is none that works, which is told, or none
  /// is `wanted`. All ranks must call it.
  std::shared_ptr<const Runtime> gpu_of_rank(bool wanted);

  struct Opened {
    std::vector<InputInfo> inputs;
    std::shared_ptr<const SampleSource> source;
  };
  struct Kept {
    OnnxModel source;
    PrepareOptions options;
    std::shared_ptr<const Prepared> prepared;
  };
  std::shared_ptr<const SampleSource> open(const SourceOptions& source, const Model& model,
                                           std::vector<Opened>& opened);

  const MeasureOptions& options_;
  const JobSinks& sinks_;
  std::shared_ptr<const Runtime> runtime_;
  std::future<std::shared_ptr<const Runtime>> coming_runtime_;
  bool device_chosen_ = false;
  std::vector<std::pair<OnnxModel, std::shared_ptr<const Model>>> models_;  // few
  std::optional<Kept> prepared_;
  std::vector<Opened> samples_, calibration_;
};

/// Shows inline_ifs every sample that will be run, calibration included. Both sources must outlive the options.
void show_samples(const SampleSource& samples, const SampleSource* calibration, PrepareOptions& options);

/// The samples of `source` for `model`, for a job that opens them once by itself. Errors: Input, as open_samples().
std::shared_ptr<const SampleSource> samples_for(const Model& model, const SourceOptions& source, const JobSinks& sinks);

}  // namespace vernier
