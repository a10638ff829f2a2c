#include "analysis/batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>

#include "analysis/segment_starts.h"
#include "analysis/subject.h"
#include "analysis/surgery.h"
#include "base/elements.h"
#include "base/text.h"
#include "engines/onnxruntime/gpu_side.h"
#include "engines/onnxruntime/operators.h"
#include "engines/onnxruntime/runtime.h"
#include "model/across_samples.h"
#include "model/layers.h"
#include "model/sample_shapes.h"
#include "numerics/metrics.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

// Other orders of sums were seen to differ by 130 dB and more on a CPU; a step of a grid that flips, by less than 80.
constexpr double kEqualDb = 100;

/// How many samples from the first on have the shapes of the first.
std::size_t alike(std::span<const Sample> samples) {
  const auto same_shape = [](const auto& a, const auto& b) {
    return a.first == b.first && a.second.shape() == b.second.shape();
  };
  std::size_t count = 1;
  while (count < samples.size() && std::ranges::equal(samples[count], samples.front(), same_shape)) ++count;
  return count;
}

/// `full`: of which size the batch is; the last sample fills it. Errors: Input where there is no first dimension, or
/// elements are no whole bytes.
Sample put_together(std::span<const Sample> samples, std::size_t full, const std::set<std::string>& shared) {
  Sample together;
  for (const auto& [name, first] : samples.front()) {
    if (shared.contains(name)) {
      together.emplace(name, first);
      continue;
    }
    if (first.shape().empty() || dtype_bits(first.dtype()) % 8 != 0) {
      throw Error(ErrorCode::SampleShape,
                  fmt::format("input '{}' has no dimension to put samples along", printable(name)));
    }
    Shape shape = first.shape();
    shape.front() *= static_cast<std::int64_t>(full);
    Tensor all(first.dtype(), std::move(shape));
    std::byte* end = all.mutable_bytes().data();
    for (std::size_t i = 0; i < full; ++i) {
      end = std::ranges::copy(samples[std::min(i, samples.size() - 1)].at(name).bytes(), end).out;
    }
    together.emplace(name, std::move(all));
  }
  return together;
}

/// The part of one sample, which shares the memory of all.
Tensor part_of(const Tensor& all, std::size_t sample, std::size_t samples) {
  const auto count = static_cast<std::int64_t>(samples);
  if (all.shape().empty() || all.shape().front() % count != 0 || dtype_bits(all.dtype()) % 8 != 0) {
    throw Error(ErrorCode::RuntimeFails,
                fmt::format("an output of shape {} is not a batch of {}", shape_text(all.shape()), samples));
  }
  Shape shape = all.shape();
  shape.front() /= count;
  const auto owner = std::make_shared<Tensor>(all);
  return {all.dtype(), std::move(shape),
          std::shared_ptr<const std::byte>(owner, owner->bytes().data() + sample * (all.byte_size() / samples))};
}

std::vector<std::vector<Tensor>> run_as_one(const Session& session, std::span<const Sample> samples,
                                            std::span<Recorder> recorders, const Together& together = {}) {
  if (samples.size() == 1) return {session.run(samples.front(), recorders)};
  const std::size_t full = std::max(samples.size(), together.full);
  const Sample batch = put_together(samples, full, together.shared);
  std::vector<Tensor> all;
  if (full == samples.size()) {
    all = session.run(batch, recorders);
  } else {
    std::vector<Recorder> filled(recorders.begin(), recorders.end());
    filled.resize(full, recorders.front());
    for (std::size_t i = samples.size(); i < full; ++i) filled[i].histograms = nullptr;
    all = session.run(batch, filled);
    std::move(filled.begin(), filled.begin() + static_cast<std::ptrdiff_t>(samples.size()), recorders.begin());
  }
  std::vector<std::vector<Tensor>> each(samples.size());
  for (const Tensor& output : all) {
    for (std::size_t i = 0; i < samples.size(); ++i) each[i].push_back(part_of(output, i, full));
  }
  return each;
}

/// Decibels between a tensor and what should be the same; absent: another shape, or no figures and other bits.
std::optional<double> agreement_db(const Tensor& alone, const Tensor& together) {
  if (alone.shape() != together.shape()) return std::nullopt;
  const bool equal = std::ranges::equal(alone.bytes(), together.bytes());
  if (!is_float(alone.dtype())) return equal ? std::optional(std::numeric_limits<double>::infinity()) : std::nullopt;
  const auto floats = [](const Tensor& tensor) {
    std::vector<double> room;
    const auto values = read_block(tensor, 0, static_cast<std::size_t>(tensor.count()), room);
    return std::vector<float>(values.begin(), values.end());
  };
  ErrorStats stats;
  if (!equal) accumulate_error(floats(alone), floats(together), stats);
  return sqnr_db(stats);
}

/// Slots of Observe and Compare of which two recorders tell other things.
struct Differing {
  std::vector<std::size_t> ranges, errors;
  bool empty() const { return ranges.empty() && errors.empty(); }
};

Differing differing(const Recorder& alone, const Recorder& together, double least_db) {
  const double relative = std::pow(10, -least_db / 20);
  const auto near = [&](double a, double b, double scale) { return a == b || std::abs(a - b) <= relative * scale; };
  Differing found;
  for (std::size_t i = 0; i < alone.ranges.size(); ++i) {
    const RangeStats &a = alone.ranges[i], &b = together.ranges[i];
    const double scale = a.absmax();
    const bool same =
        a.count == b.count && a.nonfinite == b.nonfinite && near(a.min, b.min, scale) && near(a.max, b.max, scale);
    if (!same) found.ranges.push_back(i);
  }
  for (std::size_t i = 0; i < alone.errors.size(); ++i) {
    const ErrorStats &a = alone.errors[i], &b = together.errors[i];
    const bool same = a.count == b.count && near(a.ref_energy, b.ref_energy, a.ref_energy) &&
                      near(a.max_abs_ref, b.max_abs_ref, a.max_abs_ref);
    if (!same) found.errors.push_back(i);
  }
  return found;
}

/// The first place where neighbours have equal shapes, and they; one sample where there is none.
std::span<const Sample> first_alike(std::span<const Sample> samples) {
  for (std::size_t i = 0; i + 1 < samples.size(); ++i) {
    if (const std::size_t count = alike(samples.subspan(i)); count > 1) return samples.subspan(i, count);
  }
  return samples.first(1);
}

}  // namespace

namespace {

/// Samples that ran one by one and as one.
struct BothWays {
  std::string why;  // they cannot run as one; empty: their outputs agree
  std::vector<Recorder> alone, together;
};

BothWays try_together(const Session& session, std::span<const Sample> samples, const Recorder& recorder,
                      double least_db) {
  Recorder empty = recorder;
  empty.histograms = nullptr;
  BothWays tried{{}, std::vector<Recorder>(samples.size(), empty), std::vector<Recorder>(samples.size(), empty)};
  std::vector<std::vector<Tensor>> as_one;
  try {
    as_one = run_as_one(session, samples, tried.together);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Interrupted) throw;
    tried.why = fmt::format("{} of them together do not run: {}", samples.size(), error.what());
    return tried;
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::vector<Tensor> outputs = session.run(samples[i], std::span(tried.alone).subspan(i, 1));
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const std::optional<double> db = agreement_db(outputs[k], as_one[i][k]);
      if (db && *db >= least_db) continue;
      tried.why =
          fmt::format("output '{}' differs where {} samples run together ({})", printable(session.output_names()[k]),
                      samples.size(), db ? fmt::format("{:.1f} dB apart", *db) : "other values");
      return tried;
    }
  }
  return tried;
}

std::string differ_inside(std::size_t samples) {
  return fmt::format("tensors inside the network differ where {} samples run together", samples);
}

/// By the shapes of the first sample, as far as they are known.
std::size_t samples_in_memory(const Subject& subject) {
  const GpuSide* const gpu = subject.runtime->gpu();
  const onnx::GraphProto& graph = subject.model.proto.graph();
  if (gpu == nullptr) return std::numeric_limits<std::size_t>::max();
  TensorBytes bytes_of;
  try {
    bytes_of = bytes_of_tensors(graph, shapes_for(subject.model, subject.samples->at(0)));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Interrupted) throw;  // the run tells what is wrong with the sample
  }
  constexpr std::size_t kTwins = 2;  // sessions compare a network with another
  const std::size_t each = kTwins * subject.threads * most_live_bytes(graph, bytes_of);
  return gpu->bytes_inside() / std::max<std::size_t>(each, 1);
}

}  // namespace

std::string why_not_together(const Session& session, const Model& model, const std::vector<Sample>& first,
                             const Recorder& recorder) {
  if (const std::string why = works_across_samples(model); !why.empty()) return why;
  const std::span<const Sample> samples = first_alike(first);
  if (samples.size() < 2) return fmt::format("no two neighbours of the first {} have one shape", first.size());
  const BothWays tried = try_together(session, samples, recorder, kEqualDb);
  if (!tried.why.empty()) return tried.why;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (!differing(tried.alone[i], tried.together[i], kEqualDb).empty()) return differ_inside(samples.size());
  }
  return "";
}

std::vector<std::vector<Tensor>> run_together(const Session& session, const std::vector<Sample>& samples,
                                              std::span<Recorder> recorders, const Together& together) {
  std::vector<std::vector<Tensor>> outputs;
  for (std::size_t begin = 0; begin < samples.size();) {
    const std::size_t count = alike(std::span(samples).subspan(begin));
    for (std::vector<Tensor>& each :
         run_as_one(session, std::span(samples).subspan(begin, count), recorders.subspan(begin, count), together)) {
      outputs.push_back(std::move(each));
    }
    begin += count;
  }
  return outputs;
}

std::string choose_batch(Subject& subject) {
  constexpr std::array<std::size_t, 4> kPrimes{13, 11, 7, 5};
  constexpr double kLeastDb = 80;
  const std::size_t samples = subject.samples->size();
  if (!subject.carries.empty()) return "each waits for the state of the one before";
  if (samples < kPrimes.back()) return fmt::format("there are fewer than {}", kPrimes.back());
  std::string why = works_across_samples(subject.model);
  if (!why.empty()) return why;
  const std::size_t fitting = samples_in_memory(subject);
  if (fitting < kPrimes.back()) return fmt::format("the GPU's memory holds {} of them at once", fitting);
  Model seen = subject.model;
  std::set<std::string> tensors;
  for (const Layer& layer : subject.layers) {
    if (layer.graph.empty()) tensors.insert(layer.outputs.begin(), layer.outputs.end());
  }
  std::int64_t slots = 0;
  tap(*seen.proto.mutable_graph(), tensors,
      [&](const std::string& raw, const std::string& tensor) { return observe_node(raw, tensor, slots++); });
  const Session session = subject.session(seen);
  const Recorder recorder(0, static_cast<std::size_t>(slots), 0);
  for (const std::size_t batch : kPrimes) {
    if (batch > samples || batch > fitting) continue;
    std::vector<Sample> first;
    for (std::size_t i = 0; i < batch; ++i) {
      Sample& fed = first.emplace_back();
      const Sample sample = subject.samples->at(i);
      for (const std::string& name : session.input_names()) {
        if (const auto given = sample.find(name); given != sample.end()) fed.insert(*given);
      }
    }
    if (alike(first) != batch) return "their shapes differ";
    // Where a product has samples in turns, as of [tokens, samples, width] read as rows, ranges of single ones tell.
    const auto turns = std::make_shared<std::set<Shape>>();
    Recorder looking = recorder;
    looking.taking_turns = turns.get();
    for (int round = 0; round < 2; ++round) {
      const BothWays tried = try_together(session, first, looking, kLeastDb);
      why = tried.why;
      if (!why.empty()) break;
      std::set<Shape> found;
      for (std::size_t i = 0; i < batch; ++i) {
        for (const std::size_t slot : differing(tried.alone[i], tried.together[i], kLeastDb).ranges) {
          found.insert(tried.together[i].shapes[slot]);
        }
      }
      if (found.empty()) {
        subject.batch = batch;
        subject.batch_tried = true;
        subject.taking_turns = turns;
        return {};
      }
      why = differ_inside(batch);
      turns->merge(found);
    }
  }
  return why;
}

Note one_by_one_note(std::size_t batch, const std::string& why) {
  return {"samples-one-by-one", {{"batch", batch}, {"why", why}}};
}

}  // namespace vernier
