// `vernier check data`
#include "vernier/check_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "io/labels.h"
#include "jobs/common/sources.h"
#include "jobs/data_check/check_inputs.h"
#include "jobs/eval/output_readings.h"
#include "model/model.h"
#include "tasks/squashed.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr std::size_t kMostSamples = 16;

/// Outputs in the order asked for.
std::vector<NamedTensor> chosen_outputs(std::vector<NamedTensor> outputs, const std::vector<std::string>& names) {
  if (names.empty()) return outputs;
  std::vector<NamedTensor> chosen;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(outputs, name, &NamedTensor::name);
    if (found == outputs.end()) {
      throw Error(ErrorCode::UnknownName, fmt::format("‹outputs›: the network has no output '{}'", printable(name)));
    }
    chosen.push_back(std::move(*found));
  }
  return chosen;
}

/// Scores of an output go through a function twice, as its values show.
void look_for_squashed(const std::map<std::string, SquashedTwice>& looks, OutputVerdict& verdict) {
  for (const auto& [name, look] : looks) {
    const std::optional<std::string> function = look.function();
    if (!function) continue;
    const char* const seen = *function == "softmax"
                                 ? "its rows sum to 1, and no class is more than 2.72 times as likely as another"
                                 : "all its values lie between 0.5 and 0.731";
    const std::string text = fmt::format(
        "Output '{}' looks as if a {} were applied twice: {}. Thresholds and confidences "
        "mean little then.",
        printable(name), *function, seen);
    verdict.answer += (verdict.answer.empty() ? "" : " ") + text;
    if (!verdict.better) verdict.better = fmt::format("one {} less", *function);
  }
}

OutputVerdict check_outputs(const std::shared_ptr<const Runtime>& runtime, const Model& model,
                            const SampleSource& samples, const CheckDataOptions& options, const SourceOptions& source,
                            const JobSinks& sinks) {
  const std::vector<InputInfo> inputs = model_inputs(model);
  std::unique_ptr<OutputReadings> readings;
  if (options.task) readings = output_readings(*options.task, inputs, count_samples(source, inputs, samples.size()));
  const Session session(runtime, model, SessionOptions{.optimize = true, .threads = 2});
  std::map<std::string, SquashedTwice> looks;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (sinks.progress) sinks.progress("outputs", i + 1, samples.size());
    if (sinks.is_interrupted()) throw Error(ErrorKind::Interrupted, "interrupted");
    const Sample sample = samples.at(i);
    std::vector<Tensor> tensors = session.run(sample);
    std::vector<NamedTensor> outputs;
    for (std::size_t o = 0; o < tensors.size(); ++o)
      outputs.push_back({session.output_names()[o], std::move(tensors[o])});
    for (const auto& [name, tensor] : outputs) {
      if (tensor.dtype() != Dtype::Float32 || tensor.shape().empty()) continue;
      looks[name].add(tensor.floats(), static_cast<std::size_t>(tensor.shape().back()));
    }
    if (!readings) continue;
    outputs = chosen_outputs(std::move(outputs), options.measure.outputs);
    const bool first_alone = options.task->task == Task::Classification && options.measure.outputs.empty();
    if (first_alone && outputs.size() > 1) outputs.resize(1);  // as the readings of the inputs are judged
    readings->add(i, sample, outputs);
  }
  OutputVerdict verdict;
  if (readings) verdict = readings->verdict();
  look_for_squashed(looks, verdict);
  return verdict;
}

}  // namespace

CheckDataReport check_data(const CheckDataOptions& options, const JobSinks& sinks) {
  const Model model = read_model(options.model, options.measure.external_data_dir);
  const bool labelled = options.task && !options.task->labels.empty();
  SourceOptions source = options.measure.data;
  if (source.limit == 0) source.limit = labelled ? OutputReadings::kMostSamples : kMostSamples;
  const std::shared_ptr<const SampleSource> samples = samples_for(model, source, sinks);
  if (samples->is_random()) {
    throw Error(ErrorCode::MissingArgument, "check data looks at your inputs, and none were given", "‹data› SOURCE");
  }
  std::vector<std::int64_t> labels;
  std::int64_t offset = 0;
  if (labelled && options.task->task == Task::Classification) {
    labels = read_labels(options.task->labels);
    offset = options.task->label_offset;
    if (labels.size() < samples->size()) {
      throw Error(ErrorCode::Labels, fmt::format("{}: {} for {}", printable(options.task->labels.name()),
                                                 plural(labels.size(), "label"), plural(samples->size(), "sample")));
    }
  }
  const std::shared_ptr<const Runtime> runtime =
      Runtime::load(options.measure.custom_operators, options.measure.device, options.measure.gpu_memory);
  OutputVerdict outputs = check_outputs(runtime, model, *samples, options, source, sinks);
  // Under labels that are counted otherwise no reading of the inputs would be right.
  const bool miscounted = outputs.better && !labels.empty() && !outputs.figure.empty();
  if (miscounted) labels.clear();
  CheckDataReport report = check_inputs(runtime, model, *samples, {labels, offset}, sinks);
  report.outputs = std::move(outputs);
  report.file = options.model.name();
  return report;
}

}  // namespace vernier
