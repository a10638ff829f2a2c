#include "analysis/batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>

#include "base/elements.h"
#include "base/text.h"
#include "model/across_samples.h"
#include "numerics/metrics.h"
#include "vernier/error.h"

namespace vernier {
namespace {

// Other orders of sums were seen to differ by 130 dB and more; a step of a grid that flips, by less than 80.
constexpr double kEqualDb = 100;
constexpr double kEqualEnds = 1e-5;

/// How many samples from the first on have the shapes of the first.
std::size_t alike(std::span<const Sample> samples) {
  const auto same_shape = [](const auto& a, const auto& b) {
    return a.first == b.first && a.second.shape() == b.second.shape();
  };
  std::size_t count = 1;
  while (count < samples.size() && std::ranges::equal(samples[count], samples.front(), same_shape)) ++count;
  return count;
}

/// Errors: Input where there is no first dimension, or elements are no whole bytes.
Sample put_together(std::span<const Sample> samples) {
  Sample together;
  for (const auto& [name, first] : samples.front()) {
    if (first.shape().empty() || dtype_bits(first.dtype()) % 8 != 0) {
      throw Error(ErrorKind::Input, fmt::format("input '{}' has no dimension to put samples along", printable(name)));
    }
    Shape shape = first.shape();
    shape.front() *= static_cast<std::int64_t>(samples.size());
    Tensor all(first.dtype(), std::move(shape));
    std::byte* end = all.mutable_bytes().data();
    for (const Sample& sample : samples) {
      const std::span<const std::byte> bytes = sample.at(name).bytes();
      end = std::ranges::copy(bytes, end).out;
    }
    together.emplace(name, std::move(all));
  }
  return together;
}

/// The part of one sample, which shares the memory of all.
Tensor part_of(const Tensor& all, std::size_t sample, std::size_t samples) {
  const auto count = static_cast<std::int64_t>(samples);
  if (all.shape().empty() || all.shape().front() % count != 0 || dtype_bits(all.dtype()) % 8 != 0) {
    throw Error(ErrorKind::Backend,
                fmt::format("an output of shape {} is not a batch of {}", shape_text(all.shape()), samples));
  }
  Shape shape = all.shape();
  shape.front() /= count;
  const auto owner = std::make_shared<Tensor>(all);
  return {all.dtype(), std::move(shape),
          std::shared_ptr<const std::byte>(owner, owner->bytes().data() + sample * (all.byte_size() / samples))};
}

std::vector<std::vector<Tensor>> run_as_one(const Session& session, std::span<const Sample> samples,
                                            std::span<Recorder> recorders) {
  if (samples.size() == 1) return {session.run(samples.front(), recorders)};
  const std::vector<Tensor> all = session.run(put_together(samples), recorders);
  std::vector<std::vector<Tensor>> each(samples.size());
  for (const Tensor& output : all) {
    for (std::size_t i = 0; i < samples.size(); ++i) each[i].push_back(part_of(output, i, samples.size()));
  }
  return each;
}

/// Decibels between a tensor and what should be the same; absent: another shape, or no figures and other bits.
std::optional<double> agreement_db(const Tensor& alone, const Tensor& together) {
  if (alone.shape() != together.shape()) return std::nullopt;
  const bool equal = std::ranges::equal(alone.bytes(), together.bytes());
  if (!is_float(alone.dtype())) return equal ? std::optional(kEqualDb) : std::nullopt;
  const auto floats = [](const Tensor& tensor) {
    std::vector<double> room;
    const auto values = read_block(tensor, 0, static_cast<std::size_t>(tensor.count()), room);
    return std::vector<float>(values.begin(), values.end());
  };
  ErrorStats stats;
  if (!equal) accumulate_error(floats(alone), floats(together), stats);
  return sqnr_db(stats);
}

bool near(double a, double b, double scale) { return a == b || std::abs(a - b) <= kEqualEnds * scale; }

bool saw_the_same(const Recorder& alone, const Recorder& together) {
  const auto same_range = [](const RangeStats& a, const RangeStats& b) {
    const double scale = a.absmax();
    return a.count == b.count && a.nonfinite == b.nonfinite && near(a.min, b.min, scale) && near(a.max, b.max, scale);
  };
  const auto same_errors = [](const ErrorStats& a, const ErrorStats& b) {
    return a.count == b.count && near(a.ref_energy, b.ref_energy, a.ref_energy) &&
           near(a.max_abs_ref, b.max_abs_ref, a.max_abs_ref);
  };
  return std::ranges::equal(alone.ranges, together.ranges, same_range) &&
         std::ranges::equal(alone.errors, together.errors, same_errors);
}

/// The first place where neighbours have equal shapes, and they; one sample where there is none.
std::span<const Sample> first_alike(std::span<const Sample> samples) {
  for (std::size_t i = 0; i + 1 < samples.size(); ++i) {
    if (const std::size_t count = alike(samples.subspan(i)); count > 1) return samples.subspan(i, count);
  }
  return samples.first(1);
}

}  // namespace

std::string why_not_together(const Session& session, const Model& model, const std::vector<Sample>& first,
                             const Recorder& recorder) {
  if (const std::string why = works_across_samples(model); !why.empty()) return why;
  const std::span<const Sample> samples = first_alike(first);
  if (samples.size() < 2) return fmt::format("no two neighbours of the first {} have one shape", first.size());
  Recorder empty = recorder;
  empty.histograms = nullptr;
  std::vector<Recorder> alone(samples.size(), empty), together = alone;
  std::vector<std::vector<Tensor>> as_one;
  try {
    as_one = run_as_one(session, samples, together);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Interrupted) throw;
    return fmt::format("{} of them together do not run: {}", samples.size(), error.what());
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::vector<Tensor> outputs = session.run(samples[i], std::span(alone).subspan(i, 1));
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const std::optional<double> db = agreement_db(outputs[k], as_one[i][k]);
      if (db && *db >= kEqualDb) continue;
      return fmt::format("output '{}' differs where {} samples run together ({})", printable(session.output_names()[k]),
                         samples.size(), db ? fmt::format("{:.1f} dB apart", *db) : "other values");
    }
    if (!saw_the_same(alone[i], together[i])) {
      return fmt::format("tensors inside the network differ where {} samples run together", samples.size());
    }
  }
  return "";
}

std::vector<std::vector<Tensor>> run_together(const Session& session, const std::vector<Sample>& samples,
                                              std::span<Recorder> recorders) {
  std::vector<std::vector<Tensor>> outputs;
  for (std::size_t begin = 0; begin < samples.size();) {
    const std::size_t count = alike(std::span(samples).subspan(begin));
    for (std::vector<Tensor>& each :
         run_as_one(session, std::span(samples).subspan(begin, count), recorders.subspan(begin, count))) {
      outputs.push_back(std::move(each));
    }
    begin += count;
  }
  return outputs;
}

std::string one_by_one_text(std::size_t batch, const std::string& why) {
  return fmt::format("‹batch› {}: samples run one by one: {}", batch, why);
}

}  // namespace vernier
