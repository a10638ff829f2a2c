#include "jobs/common/sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/alike_samples.h"
#include "base/text.h"
#include "distributed/ranks.h"
#include "engines/cuda/gpu.h"
#include "engines/onnxruntime/custom_types.h"
#include "engines/onnxruntime/gpu_side.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "jobs/common/gpu_of_rank.h"
#include "vernier/device.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Remembers, for each thread, the sample that it asked for last: runners take their turns with one sample, and
/// decoding it (a photograph, Base64) may cost more than a small network.
class RememberingSource final : public SampleSource {
 public:
  explicit RememberingSource(std::unique_ptr<SampleSource> source) : source_(std::move(source)) {}

  std::size_t size() const override { return source_->size(); }
  std::string description() const override { return source_->description(); }
  bool is_random() const override { return source_->is_random(); }
  bool reads_images() const override { return source_->reads_images(); }
  std::vector<std::string> skipped_images() const override { return source_->skipped_images(); }

  Sample at(std::size_t index) const override {
    thread_local Last last;
    if (last.owner != id_ || last.index != index) last = {id_, index, source_->at(index)};
    return last.sample;
  }

 private:
  struct Last {
    std::size_t owner = 0;
    std::size_t index = 0;
    Sample sample;
  };
  static std::size_t next_id() {
    static std::atomic<std::size_t> count{0};
    return ++count;
  }

  std::unique_ptr<SampleSource> source_;
  std::size_t id_ = next_id();  // an address would come back with another source
};

/// Valid indices of integer inputs that a Gather looks something up with: random data must stay within them.
void find_index_limits(const Model& model, std::vector<InputInfo>& inputs) {
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    if (node.op_type() != "Gather" || node.input_size() < 2) continue;
    const std::optional<Tensor> table = initializer(model, node.input(0));
    if (!table || table->shape().empty()) continue;
    const std::int64_t axis = attribute_int(node, "axis", 0);
    const auto rank = static_cast<std::int64_t>(table->shape().size());
    if (axis < -rank || axis >= rank) continue;
    for (InputInfo& input : inputs) {
      if (input.name == node.input(1)) {
        input.index_limit = table->shape()[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
      }
    }
  }
}

/// Index limits say something to random data alone.
bool same_input(const InputInfo& a, const InputInfo& b, bool random) {
  return a.name == b.name && a.dtype == b.dtype && a.shape == b.shape && (!random || a.index_limit == b.index_limit);
}

/// The options that prepare images, as far as they were given.
std::vector<std::string> image_options(const ImageOptions& image) {
  std::vector<std::string> given;
  if (!image.geometry.empty()) given.emplace_back("‹image›");
  if (!image.mean.empty()) given.emplace_back("‹image-mean›");
  if (!image.scale.empty()) given.emplace_back("‹image-std›");
  if (image.color != ImageColor::Rgb) given.emplace_back("‹image-color›");
  if (image.layout) given.emplace_back("‹image-layout›");
  return given;
}

void warn_of_image_options(const SampleSource& opened, const SourceOptions& source, const JobSinks& sinks) {
  const std::vector<std::string> given = image_options(source.image);
  if (given.empty() || opened.reads_images()) return;
  const std::string where = opened.is_random()        ? "random data"
                            : source.location.empty() ? opened.description()
                                                      : printable(source.location);
  sinks.warn({"image-options-without-effect", {{"options", given}, {"data", where}}});
}

/// Labels that count files would belong to other samples.
void warn_of_skipped_images(const SampleSource& opened, const JobSinks& sinks) {
  const std::vector<std::string> skipped = opened.skipped_images();
  if (skipped.empty()) return;
  sinks.warn({"images-skipped", {{"images", static_cast<std::int64_t>(skipped.size())}, {"first", skipped.front()}}});
}

std::vector<std::string> gpus_seen() {
  std::vector<std::string> ids;
  for (const GpuAbout& gpu : ask_driver().gpus) ids.push_back(gpu.id);
  return ids;
}

/// ‹device› cuda without an index, on one of several ranks: one of the GPUs that it sees. All ranks must call it.
Device of_rank(Device device) {
  if (device.kind != DeviceKind::Cuda || device.index || job_ranks().alone()) return device;
  device.index = gpu_among_ranks(job_ranks(), gpus_seen()).index;
  return device;
}

}  // namespace

Progress progress_of(const JobSinks& sinks) {
  return [sinks](const std::string& phase, std::size_t done, std::size_t total) {
    if (sinks.is_interrupted()) throw Error(ErrorKind::Interrupted, "interrupted");
    if (sinks.progress) sinks.progress(phase, done, total);
  };
}

Sources::Sources(const MeasureOptions& options, const JobSinks& sinks) : options_(options), sinks_(sinks) {}

Sources::Sources(const Sources& read, const JobSinks& sinks)
    : output_parts(read.output_parts),
      options_(read.options_),
      sinks_(sinks),
      runtime_(read.runtime_),
      device_chosen_(read.device_chosen_),
      models_(read.models_),
      prepared_(read.prepared_),
      samples_(read.samples_),
      calibration_(read.calibration_) {}

const std::shared_ptr<const Runtime>& Sources::runtime() {
  if (runtime_ != nullptr) return runtime_;
  runtime_ = coming_runtime_.valid()
                 ? coming_runtime_.get()
                 : Runtime::load(options_.custom_operators, of_rank(options_.device), options_.gpu_memory);
  if (runtime_->gpu() != nullptr && sinks_.info) sinks_.info("networks run on " + runtime_->gpu()->text());
  return runtime_;
}

void Sources::load_runtime_ahead() {
  // Libraries of operators are tried in a copy of the process, in which what another thread locked stays locked.
  if (runtime_ != nullptr || coming_runtime_.valid() || !options_.custom_operators.empty()) return;
  coming_runtime_ = std::async(std::launch::async, [device = of_rank(options_.device), memory = options_.gpu_memory] {
    std::shared_ptr<const Runtime> loaded = Runtime::load({}, device, memory);
    if (loaded->gpu() != nullptr) warm_up(loaded);
    return loaded;
  });
}

void Sources::choose_device(const std::function<bool()>& pays) {
  if (options_.device.kind != DeviceKind::Auto || std::exchange(device_chosen_, true)) return;
  const bool wanted = options_.custom_operators.empty() && gpu_may_be_there() && pays();
  std::shared_ptr<const Runtime> on_gpu = gpu_of_rank(wanted);
  // Ranks must get the same figures.
  if (job_ranks().least(on_gpu == nullptr ? 0 : 1) == 0) return;
  runtime_ = std::move(on_gpu);
  if (sinks_.info) sinks_.info("networks run on " + runtime_->gpu()->text());
}

std::shared_ptr<const Runtime> Sources::gpu_of_rank(bool wanted) {
  const auto on_cpu = [&](const std::string& why) {
    if (sinks_.info) sinks_.info("networks run on the CPU: " + why);
    return nullptr;
  };
  if (wanted && coming_runtime_.valid()) coming_runtime_.wait();  // two libraries are not loaded side by side
  Device device{DeviceKind::Cuda, {}};
  if (!job_ranks().alone()) {
    const GpuOfRank mine = gpu_among_ranks(job_ranks(), wanted ? gpus_seen() : std::vector<std::string>());
    if (wanted && mine.shared) return on_cpu("this machine has more ranks than GPUs");
    device.index = mine.index;
  }
  if (!wanted) return nullptr;
  try {
    return Runtime::load({}, device, options_.gpu_memory);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Backend) throw;
    return on_cpu(error.what());
  }
}

std::shared_ptr<const Model> Sources::model(const OnnxModel& source) {
  for (const auto& [known, model] : models_) {
    if (known == source) return model;
  }
  Model read = read_model(source, options_.external_data_dir, progress_of(sinks_));
  if (holds_unknown_operators(read)) learn_custom_types(*runtime(), read);
  models_.emplace_back(source, std::make_shared<const Model>(std::move(read)));
  return models_.back().second;
}

void Sources::set_model(const OnnxModel& source, Model model) {
  std::erase_if(models_, [&](const auto& known) { return known.first == source; });
  models_.emplace_back(source, std::make_shared<const Model>(std::move(model)));
}

std::shared_ptr<const Prepared> Sources::prepared(const OnnxModel& source, PrepareOptions options) {
  const std::shared_ptr<const Model> original = model(source);
  if (prepared_ && prepared_->source == source && prepares_alike(*original, prepared_->options, options)) {
    return prepared_->prepared;
  }
  prepared_.reset();  // two at once may be more than there is memory
  std::shared_ptr<const SampleSource> shown, learned;
  if (options.inline_ifs) {
    shown = samples(*original);
    learned = calibration(*original);
    show_samples(*shown, learned.get(), options);
  }
  auto made = std::make_shared<const Prepared>(prepare(*original, options, evaluator(runtime())));
  options.sample_at = {};
  prepared_ = Kept{source, std::move(options), made};
  return made;
}

void Sources::forget_models() {
  models_.clear();
  prepared_.reset();
}

std::shared_ptr<const SampleSource> Sources::calibration(const Model& model) {
  return options_.calibration_data ? open(*options_.calibration_data, model, calibration_) : nullptr;
}

std::shared_ptr<const SampleSource> Sources::open(const SourceOptions& source, const Model& model,
                                                  std::vector<Opened>& opened) {
  std::vector<InputInfo> inputs = model_inputs(model);
  find_index_limits(model, inputs);
  const bool random = source.is_random();
  const auto same = [random](const InputInfo& a, const InputInfo& b) { return same_input(a, b, random); };
  for (const Opened& known : opened) {
    if (std::equal(known.inputs.begin(), known.inputs.end(), inputs.begin(), inputs.end(), same)) return known.source;
  }
  SourceOptions options = source;
  options.interrupted = sinks_.interrupted;
  for (const auto& [output, input] : options_.carries) options.carried.push_back(input);
  auto samples = std::make_shared<RememberingSource>(open_samples(options, inputs));
  opened.push_back({inputs, std::make_shared<AlikeSamples>(std::move(samples))});
  if (opened.size() == 1) {
    warn_of_image_options(*opened.front().source, source, sinks_);
    warn_of_skipped_images(*opened.front().source, sinks_);
  }
  return opened.back().source;
}

void show_samples(const SampleSource& samples, const SampleSource* calibration, PrepareOptions& options) {
  const std::size_t own = samples.size();
  options.samples = own + (calibration == nullptr ? 0 : calibration->size());
  options.sample_at = [&samples, calibration, own](std::size_t index) {
    return index < own ? samples.at(index) : calibration->at(index - own);
  };
}

std::shared_ptr<const SampleSource> samples_for(const Model& model, const SourceOptions& source,
                                                const JobSinks& sinks) {
  MeasureOptions measure;
  measure.data = source;
  return Sources(measure, sinks).samples(model);
}

}  // namespace vernier
