// `vernier check data`
#include "vernier/check_data.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "base/text.h"
#include "engines/onnxruntime/runtime.h"
#include "io/labels.h"
#include "jobs/common/sources.h"
#include "jobs/data_check/check_inputs.h"
#include "model/model.h"
#include "vernier/error.h"
#include "vernier/samples.h"

namespace vernier {
namespace {

constexpr std::size_t kMostSamples = 16, kMostLabelled = 64;

}  // namespace

CheckDataReport check_data(const CheckDataOptions& options, const JobSinks& sinks) {
  const Model model = read_model(options.model, options.measure.external_data_dir);
  SourceOptions source = options.measure.data;
  if (source.limit == 0) source.limit = options.labels.empty() ? kMostSamples : kMostLabelled;
  const std::shared_ptr<const SampleSource> samples = samples_for(model, source, sinks);
  if (samples->is_random()) {
    throw Error(ErrorKind::Usage, "check data looks at your inputs, and none were given", "--data SOURCE");
  }
  std::vector<std::int64_t> labels;
  if (!options.labels.empty()) {
    labels = read_labels(options.labels);
    if (labels.size() < samples->size()) {
      throw Error(ErrorKind::Input, fmt::format("{}: {} for {}", printable(options.labels.string()),
                                                plural(labels.size(), "label"), plural(samples->size(), "sample")));
    }
  }
  CheckDataReport report = check_inputs(Runtime::load(options.measure.custom_operators), model, *samples, 0,
                                        {labels, options.label_offset}, sinks);
  report.file = options.model.string();
  return report;
}

}  // namespace vernier
