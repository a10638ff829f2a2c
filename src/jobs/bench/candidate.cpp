#include "jobs/bench/candidate.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "engines/onnxruntime/runtime.h"
#include "jobs/common/node_times.h"
#include "model/layers.h"

namespace vernier {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

void sort_slowest_first(std::vector<BenchLayer>& layers) {
  std::ranges::stable_sort(layers, std::ranges::greater{}, &BenchLayer::ms);
}

}  // namespace

SessionCandidate::SessionCandidate(BenchRow row, std::shared_ptr<const Runtime> runtime, Model model,
                                   const SessionOptions& options, Sample sample)
    : Candidate(std::move(row)),
      runtime_(std::move(runtime)),
      model_(std::move(model)),
      options_(options),
      sample_(std::move(sample)) {
  const Clock::time_point start = Clock::now();
  session_ = std::make_unique<Session>(runtime_, model_, options_);
  this->row().build_seconds = seconds_since(start);
}

std::vector<double> SessionCandidate::time(const Turn& turn) {
  for (std::size_t i = 0; i < turn.skip; ++i) session_->run(sample_);
  std::vector<double> times;
  const Clock::time_point start = Clock::now();
  while (times.size() < turn.least || seconds_since(start) < turn.seconds) {
    const Clock::time_point begin = Clock::now();
    session_->run(sample_);
    times.push_back(seconds_since(begin));
  }
  return times;
}

std::vector<BenchLayer> SessionCandidate::layers(std::size_t runs) {
  std::map<std::string, std::string> named;  // layers by their names, and by those of their outputs
  for (const Layer& layer : find_layers(model_)) {
    named[layer.name] = layer.name;
    for (const std::string& output : layer.outputs) named.emplace(output, layer.name);
  }
  std::vector<BenchLayer> layers;
  for (const NodeTime& time : node_times(runtime_, model_, options_, sample_, runs)) {
    BenchLayer& layer = layers.emplace_back();
    layer.kernel = time.node;
    layer.kind = time.op_type;
    std::string name = time.node;
    constexpr std::string_view kBlocked =
        "_nchwc";  // behind the name of an output, of nodes whose channels lie in blocks
    if (!named.contains(name) && name.ends_with(kBlocked)) name.resize(name.size() - kBlocked.size());
    if (const auto known = named.find(name); known != named.end()) layer.layers = {known->second};
    layer.ms = time.microseconds / 1000;
  }
  sort_slowest_first(layers);
  return layers;
}

EngineCandidate::EngineCandidate(BenchRow row, std::unique_ptr<EngineRunner> engine, Sample sample)
    : Candidate(std::move(row)), engine_(std::move(engine)), sample_(std::move(sample)) {}

EngineTimes EngineCandidate::ask(const Turn& turn, bool copies) {
  TimeRequest request;
  if (!given_) request.sample = &sample_;
  request.seconds = turn.seconds;
  request.least = turn.least;
  request.skip = turn.skip;
  request.copies = copies;
  request.cuda_graph = row().cuda_graph;
  EngineTimes times = engine_->time(request);
  given_ = true;
  return times;
}

std::vector<double> EngineCandidate::time(const Turn& turn) {
  EngineTimes times = ask(turn, /*copies=*/false);
  row().device_clock = times.device_clock;
  return std::move(times.seconds);
}

std::vector<double> EngineCandidate::time_with_copies(const Turn& turn) {
  if (!row().device_clock) return {};
  return ask(turn, /*copies=*/true).seconds;
}

std::vector<BenchLayer> EngineCandidate::layers(std::size_t runs) {
  const EngineReport& report = *row().built;
  std::map<std::string, std::size_t> kernels;
  for (std::size_t i = 0; i < report.kernels.size(); ++i) kernels.emplace(report.kernels[i].name, i);
  std::vector<BenchLayer> layers;
  for (const EngineKernelTime& time : engine_->kernel_times(runs)) {
    BenchLayer& layer = layers.emplace_back();
    layer.kernel = time.name;
    layer.ms = time.seconds * 1000;
    const auto kernel = kernels.find(time.name);
    if (kernel == kernels.end()) continue;
    layer.kind = report.kernels[kernel->second].kind;
    for (const EngineLayer& computed : report.layers) {
      if (computed.kernel == kernel->second) layer.layers.push_back(computed.name);
    }
    // What no layer is computed in may still do a part of one.
    if (layer.layers.empty() && !std::ranges::binary_search(report.helpers, kernel->second)) {
      layer.layers = report.kernels[kernel->second].nodes;
    }
  }
  sort_slowest_first(layers);
  return layers;
}

}  // namespace vernier
