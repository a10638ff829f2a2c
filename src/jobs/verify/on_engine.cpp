#include "jobs/verify/on_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "analysis/figures.h"
#include "analysis/run_tensors.h"
#include "analysis/subject.h"
#include "analysis/surgery.h"
#include "base/elements.h"
#include "base/text.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "jobs/engine/engine_runner.h"
#include "jobs/run/engine_run.h"
#include "jobs/run/live_run.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/report/engine.h"
#include "vernier/tensor.h"

namespace vernier {

Tensor as_float32(const Tensor& tensor) {
  if (tensor.dtype() == Dtype::Float32) return tensor;
  std::vector<float> values(static_cast<std::size_t>(tensor.count())), room;
  for (std::int64_t first = 0; first < tensor.count(); first += kBlock) {
    const auto n = static_cast<std::size_t>(std::min(kBlock, tensor.count() - first));
    const std::span<const float> block = read_block<float>(tensor, first, n, room);
    std::ranges::copy(block, values.begin() + first);
  }
  return Tensor::of(tensor.shape(), values);
}

namespace {

/// A tensor of the engine's and the one of the reference that it stands for.
struct Pair {
  std::string reference, engine;
};

/// Sums of each pair over all samples, by the name in the reference. `tally` may be null.
std::map<std::string, OutputStats> compare(const Loaded& loaded, const LiveRun& run, const std::vector<Pair>& pairs,
                                           Tally* tally, const JobSinks& sinks) {
  Subject subject = loaded.subject;
  subject.ranks = nullptr;  // one process asks the engine
  std::vector<std::string> names;
  for (const Pair& pair : pairs) names.push_back(pair.reference);
  std::map<std::string, OutputStats> sums;
  run_tensors(
      subject, subject.model, names, all_samples(subject),
      [&](std::size_t sample, const std::vector<Tensor>& references) {
        if (sinks.progress) sinks.progress("engine", sample + 1, run.size());
        const Iteration iteration = run.at(sample);
        std::vector<Tensor> given_here;
        for (std::size_t i = 0; i < pairs.size(); ++i) {
          const auto given = std::ranges::find(iteration.outputs, pairs[i].engine, &NamedTensor::name);
          const bool may_differ = subject.picked.contains(pairs[i].reference);
          if (given == iteration.outputs.end() || (given->tensor.shape() != references[i].shape() && !may_differ)) {
            throw Error(ErrorCode::EngineFails,
                        fmt::format("{}: '{}' is {}, but {} in the float model", run.name(), printable(pairs[i].engine),
                                    given == iteration.outputs.end() ? "nothing" : shape_text(given->tensor.shape()),
                                    shape_text(references[i].shape())));
          }
          given_here.push_back(as_float32(given->tensor));
          stats_of(sums, subject, pairs[i].reference).add_sample(sample, references[i], given_here.back());
        }
        if (tally != nullptr) tally->add(sample, references, given_here);
        return true;
      });
  return sums;
}

class Measurement {
 public:
  Measurement(const Model& typed, const Loaded& loaded, const LayerMatches& matches, MeasureOn on,
              const EngineRunOptions& options, const JobSinks& sinks)
      : file_(typed), loaded_(loaded), matches_(matches), on_(on), options_(options), sinks_(sinks) {
    fit_beside(file_, loaded_);
    types_ = infer_types(file_);
  }

  EngineFigures measure(const Requirement* requirement, bool layers, Tally* tally) {
    EngineFigures figures;
    std::unique_ptr<EngineRunner> engine = start();
    figures.engine = text_of(engine.get());
    figures.figures = figures_of(loaded_.subject, run(std::move(engine), judged(), figures, tally), requirement);
    if (layers) measure_layers(figures);
    return figures;
  }

  std::map<std::string, OutputStats> outputs(const std::shared_ptr<EngineRunner>& engine, Tally* tally) const {
    EngineFigures unread;
    unread.engine = text_of(engine.get());
    return run(engine, judged(), unread, tally);
  }

 private:
  std::string text_of(const EngineRunner* engine) const {
    return engine != nullptr ? engine->text() : "ONNX Runtime " + loaded_.subject.runtime->version();
  }

  std::vector<Pair> judged() const {
    std::vector<Pair> pairs;
    for (const std::string& output : loaded_.subject.judged) pairs.push_back({output, output});
    return pairs;
  }

  std::map<std::string, OutputStats> run(const std::shared_ptr<EngineRunner>& engine, const std::vector<Pair>& pairs,
                                         EngineFigures& figures, Tally* tally) const {
    Model marked = file_;
    std::vector<std::pair<std::string, Dtype>> outputs;
    for (const Pair& pair : pairs) outputs.emplace_back(pair.engine, types_.at(pair.engine).dtype);
    set_outputs(marked, outputs);
    const auto carries = carries_of(loaded_.subject);
    if (engine == nullptr) {
      SessionOptions session;
      session.integer_kernels = true;
      session.ir_as_given = true;
      return compare(
          loaded_,
          SessionRun(figures.engine, loaded_.subject.runtime, std::move(marked), session, loaded_.samples, carries),
          pairs, tally, sinks_);
    }
    EngineReport report;
    const EngineRun live(figures.engine, engine, std::move(marked), loaded_.samples, carries, &report);
    if (figures.kernels == 0) {
      figures.kernels = report.kernels.size();
      figures.changed_formats = other_formats(report);
      figures.other_formats = other_formats_text(report);
    }
    return compare(loaded_, live, pairs, tally, sinks_);
  }

  void measure_layers(EngineFigures& figures) const {
    std::set<std::string> there;
    for (const onnx::NodeProto& node : file_.proto.graph().node())
      there.insert(node.output().begin(), node.output().end());
    std::vector<Pair> pairs;
    std::vector<std::string> layers;
    for (std::size_t i = 0; i < matches_.pairs.size(); ++i) {
      const Match& match = matches_.pairs[i];
      if (!there.contains(match.low) || !types_.contains(match.low)) continue;
      pairs.push_back({match.ref, match.low});
      layers.push_back(matches_.layers[i]->name);
    }
    if (pairs.empty()) return;
    try {
      std::map<std::string, OutputStats> sums = run(start(), pairs, figures, nullptr);
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        figures.layers.push_back({layers[i], sqnr_db(sums[pairs[i].reference].pooled)});
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Backend) throw;
      figures.no_layers = error.what();
    }
  }

  /// Null: ONNX Runtime, which is here already.
  std::unique_ptr<EngineRunner> start() const {
    return on_ == MeasureOn::OnnxRuntime ? nullptr : EngineRunner::require(options_for(on_, options_), sinks_);
  }

  static std::vector<std::pair<std::string, std::string>> carries_of(const Subject& subject) {
    std::vector<std::pair<std::string, std::string>> carries;
    for (const Carry& carry : subject.carries) carries.emplace_back(carry.output, carry.input);
    return carries;
  }

  Model file_;  // with the inputs and outputs of the float model
  std::map<std::string, ValueType> types_;
  const Loaded& loaded_;
  const LayerMatches& matches_;
  MeasureOn on_;
  EngineRunOptions options_;
  const JobSinks& sinks_;
};

}  // namespace

EngineFigures measure_on_engine(const Model& typed, const Loaded& loaded, const LayerMatches& matches,
                                const Requirement* requirement, MeasureOn on, const EngineRunOptions& options,
                                bool layers, Tally* tally, const JobSinks& sinks) {
  return Measurement(typed, loaded, matches, on, options, sinks).measure(requirement, layers, tally);
}

std::map<std::string, OutputStats> outputs_on_engine(const Model& typed, const Loaded& loaded,
                                                     const std::shared_ptr<EngineRunner>& engine, Tally* tally,
                                                     const JobSinks& sinks) {
  const LayerMatches none;
  return Measurement(typed, loaded, none, MeasureOn::OnnxRuntime, {}, sinks).outputs(engine, tally);
}

}  // namespace vernier
