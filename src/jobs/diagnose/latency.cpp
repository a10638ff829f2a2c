#include "jobs/diagnose/latency.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/median.h"
#include "base/text.h"
#include "jobs/common/median_latency.h"
#include "jobs/common/typed_file.h"
#include "vernier/error.h"

namespace vernier {

bool has_integer_kernels(const std::vector<Format>& low) {
  return std::any_of(low.begin(), low.end(), [](Format format) {
    return format == Format::Int8 || format == Format::UInt8 || format == Format::DynamicInt8;
  });
}

LatencyReport measure_latency(const Subject& subject, const LatencyModels& models, Target target) {
  LatencyReport latency;
  latency.threads = static_cast<int>(subject.threads);
  const Sample sample = subject.samples->at(0);
  const auto milliseconds = [&](const Model& model) -> std::optional<double> {
    try {
      return median_latency_ms(subject.runtime, model, sample, latency.threads);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Backend) throw;
      if (latency.note.empty()) latency.note = first_line(error.what());
      return std::nullopt;
    }
  };
  latency.float_ms = milliseconds(*models.original);
  if (models.low == nullptr) {
    latency.note =
        "ONNX Runtime's CPU kernels compute these formats in FP32, or not at all, so this latency is meaningless";
    return latency;
  }
  latency.low_ms = milliseconds(*models.low);
  if (models.repaired != nullptr) latency.repaired_ms = milliseconds(*models.repaired);
  if (!latency.note.empty()) return latency;
  const char* const engine = target == Target::TensorRt ? "TensorRT" : "OpenVINO";
  latency.note = target == Target::OnnxRuntime
                     ? what_keeping_cost(latency)
                     : fmt::format(
                           "ONNX Runtime cannot fuse the {0} placement, so it may run the model slower than "
                           "FP32. {0} fuses it.",
                           engine);
  return latency;
}

LatencyReport measure_latency(EngineRunner& engine, const SampleSource& samples, const LatencyModels& models) {
  LatencyReport latency;
  latency.engine = engine.text();
  const Sample sample = samples.at(0);
  const auto milliseconds = [&](const Model* model) -> std::optional<double> {
    if (model == nullptr) return std::nullopt;
    try {
      engine.open(as_typed_file(*model), samples);
      TimeRequest request;
      request.sample = &sample;
      request.seconds = 0.25;
      request.least = 5;
      request.skip = 1;
      return 1000 * median(engine.time(request).seconds);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Backend) throw;
      latency.note = error.what();
      return std::nullopt;
    }
  };
  latency.float_ms = milliseconds(models.original);
  latency.low_ms = milliseconds(models.low);
  latency.repaired_ms = milliseconds(models.repaired);
  if (latency.note.empty()) latency.note = what_keeping_cost(latency);
  return latency;
}

std::string what_keeping_cost(const LatencyReport& latency) {
  if (!latency.float_ms || !latency.low_ms) return {};
  const double gain = *latency.float_ms - *latency.low_ms;
  if (gain <= 0) {
    return "low precision was not faster than FP32 in this measurement. On a busy machine, compare "
           "with ‹vernier bench›, which runs both in turns";
  }
  if (!latency.repaired_ms) return {};
  const double lost = *latency.repaired_ms - *latency.low_ms;
  if (lost < gain / 2) return {};
  return fmt::format(
      "the kept layers cost {:.2g} ms of the {:.2g} ms that low precision gains. Fewer of them, and in groups, cost "
      "less (‹cost› time, or a looser requirement)",
      lost, gain);
}

}  // namespace vernier
