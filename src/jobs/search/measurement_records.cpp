#include "jobs/search/measurement_records.h"

#include <cstddef>
#include <cstdint>
#include <optional>

#include "numerics/metrics.h"
#include "numerics/round.h"
#include "vernier/format.h"

namespace vernier::records {
namespace {

// Structs with gaps go field by field: what lies in a gap is anything, and equal records are to have equal bytes.

template <class T>
void put_optional(Packer& packer, const std::optional<T>& value) {
  packer.put(value.has_value());
  packer.put(value.value_or(T{}));
}

template <class T>
std::optional<T> get_optional(Unpacker& unpacker) {
  const bool there = unpacker.get<bool>();
  const T value = unpacker.get<T>();
  return there ? std::optional(value) : std::nullopt;
}

void put_sums(Packer& packer, const OutputSums& sums) {
  packer.put(sums.pooled);
  packer.put(sums.lost_infinities);
  packer.put(sums.rows);
  packer.put(sums.rows_agreed);
  packer.put(sums.worst_sqnr_db);
  packer.put(sums.worst_sample);
  packer.put(sums.samples);
  put_optional(packer, sums.class_axis);
  packer.put(sums.along_last);
}

void get_sums(Unpacker& unpacker, OutputSums& sums) {
  sums.pooled = unpacker.get<ErrorStats>();
  sums.lost_infinities = unpacker.get<std::int64_t>();
  sums.rows = unpacker.get<std::int64_t>();
  sums.rows_agreed = unpacker.get<std::int64_t>();
  sums.worst_sqnr_db = unpacker.get<double>();
  sums.worst_sample = unpacker.get<std::size_t>();
  sums.samples = unpacker.get<std::size_t>();
  sums.class_axis = get_optional<int>(unpacker);
  sums.along_last = unpacker.get<bool>();
}

void put_outcome(Packer& packer, const SampleOutcome& outcome) {
  packer.put(outcome.error);
  packer.put(outcome.lost_infinities);
  packer.put(outcome.rows);
  packer.put(outcome.rows_agreed);
  packer.put(outcome.along_last);
}

SampleOutcome get_outcome(Unpacker& unpacker) {
  SampleOutcome outcome;
  outcome.error = unpacker.get<ErrorStats>();
  outcome.lost_infinities = unpacker.get<std::int64_t>();
  outcome.rows = unpacker.get<std::int64_t>();
  outcome.rows_agreed = unpacker.get<std::int64_t>();
  outcome.along_last = unpacker.get<bool>();
  return outcome;
}

void put_picture(Packer& packer, const ValuePicture& picture) {
  packer.put(picture.tensor);
  packer.put(picture.role);
  packer.put(picture.logarithmic);
  packer.put(picture.first);
  packer.put(picture.last);
  packer.put(picture.reference);
  packer.put(picture.low);
  packer.put(picture.reference_zeros);
  packer.put(picture.low_zeros);
  packer.put(picture.low_nonfinite);
  for (const auto& value : {picture.step, picture.clip_low, picture.clip_high, picture.smallest})
    put_optional(packer, value);
  packer.put(picture.channels.has_value());
  if (!picture.channels) return;
  packer.put(picture.channels->tensor);
  packer.put(picture.channels->channels);
  packer.put(picture.channels->per_entry);
  packer.put(picture.channels->low);
  packer.put(picture.channels->high);
}

void get_picture(Unpacker& unpacker, ValuePicture& picture) {
  picture.tensor = unpacker.get_text();
  picture.role = unpacker.get<PictureRole>();
  picture.logarithmic = unpacker.get<bool>();
  picture.first = unpacker.get<double>();
  picture.last = unpacker.get<double>();
  picture.reference = unpacker.get_vector<std::int64_t>();
  picture.low = unpacker.get_vector<std::int64_t>();
  picture.reference_zeros = unpacker.get<std::int64_t>();
  picture.low_zeros = unpacker.get<std::int64_t>();
  picture.low_nonfinite = unpacker.get<std::int64_t>();
  for (auto* value : {&picture.step, &picture.clip_low, &picture.clip_high, &picture.smallest}) {
    *value = get_optional<double>(unpacker);
  }
  if (!unpacker.get<bool>()) return;
  ChannelRanges& channels = picture.channels.emplace();
  channels.tensor = unpacker.get_text();
  channels.channels = unpacker.get<std::int64_t>();
  channels.per_entry = unpacker.get<std::int64_t>();
  channels.low = unpacker.get_vector<double>();
  channels.high = unpacker.get_vector<double>();
}

}  // namespace

void put(Packer& packer, const std::map<std::string, OutputStats>& outputs) {
  packer.put(outputs.size());
  for (const auto& [name, stats] : outputs) {
    packer.put(name);
    put_sums(packer, stats);
    packer.put(stats.each);
  }
}

void get(Unpacker& unpacker, std::map<std::string, OutputStats>& outputs) {
  for (auto left = unpacker.get<std::size_t>(); left > 0; --left) {
    OutputStats& stats = outputs[unpacker.get_text()];
    get_sums(unpacker, stats);
    stats.each = unpacker.get_vector<SampleSums>();
  }
}

void put(Packer& packer, const std::vector<LayerError>& errors) {
  packer.put(errors.size());
  for (const LayerError& error : errors) {
    packer.put(error.layer);
    packer.put(error.format);
    packer.put(error.error);
    packer.put(error.events);
    packer.put(error.tensors.size());
    for (const std::string& tensor : error.tensors) packer.put(tensor);
  }
}

void get(Unpacker& unpacker, std::vector<LayerError>& errors) {
  for (auto left = unpacker.get<std::size_t>(); left > 0; --left) {
    LayerError& error = errors.emplace_back();
    error.layer = unpacker.get_text();
    error.format = unpacker.get<Format>();
    error.error = unpacker.get<ErrorStats>();
    error.events = unpacker.get<RoundEvents>();
    for (auto tensors = unpacker.get<std::size_t>(); tensors > 0; --tensors) {
      error.tensors.push_back(unpacker.get_text());
    }
  }
}

void put(Packer& packer, const Lockstep& lockstep) {
  packer.put(lockstep.errors);
  put(packer, lockstep.outputs);
  packer.put(lockstep.sample_noise);
}

void get(Unpacker& unpacker, Lockstep& lockstep) {
  lockstep.errors = unpacker.get_vector<ErrorStats>();
  get(unpacker, lockstep.outputs);
  lockstep.sample_noise = unpacker.get_vector<double>();
}

void put(Packer& packer, const Trials& trials) {
  packer.put(trials.size());
  for (const auto& [plan, samples] : trials) {
    packer.put(plan);
    packer.put(samples.size());
    for (const auto& [sample, outcomes] : samples) {
      packer.put(sample);
      packer.put(outcomes.size());
      for (const SampleOutcome& outcome : outcomes) put_outcome(packer, outcome);
    }
  }
}

void get(Unpacker& unpacker, Trials& trials) {
  for (auto plans = unpacker.get<std::size_t>(); plans > 0; --plans) {
    KnownTrials::BySample& samples = trials[unpacker.get_text()];
    for (auto left = unpacker.get<std::size_t>(); left > 0; --left) {
      const auto sample = unpacker.get<std::size_t>();
      KnownTrials::Outcomes& outcomes = samples[sample];
      for (auto each = unpacker.get<std::size_t>(); each > 0; --each) outcomes.push_back(get_outcome(unpacker));
    }
  }
}

void put(Packer& packer, const LayerProbe& probe) {
  packer.put(probe.own);
  packer.put(probe.own_with_exact_weights);
  packer.put(probe.mean_error);
}

void get(Unpacker& unpacker, LayerProbe& probe) {
  probe.own = unpacker.get<ErrorStats>();
  probe.own_with_exact_weights = unpacker.get<ErrorStats>();
  probe.mean_error = unpacker.get_vector<double>();
}

void put(Packer& packer, const Magnitudes& magnitudes) {
  packer.put(magnitudes.channels);
  packer.put(magnitudes.samples);
}

void get(Unpacker& unpacker, Magnitudes& magnitudes) {
  magnitudes.channels = unpacker.get_vector<float>();
  magnitudes.samples = unpacker.get_vector<float>();
}

void put(Packer& packer, const std::string& words) { packer.put(words); }

void get(Unpacker& unpacker, std::string& words) { words = unpacker.get_text(); }

void put(Packer& packer, const std::vector<LayerPicture>& pictures) {
  packer.put(pictures.size());
  for (const LayerPicture& picture : pictures) {
    packer.put(picture.layer);
    packer.put(picture.samples);
    packer.put(picture.tensors.size());
    for (const ValuePicture& tensor : picture.tensors) put_picture(packer, tensor);
  }
}

void get(Unpacker& unpacker, std::vector<LayerPicture>& pictures) {
  for (auto left = unpacker.get<std::size_t>(); left > 0; --left) {
    LayerPicture& picture = pictures.emplace_back();
    picture.layer = unpacker.get_text();
    picture.samples = unpacker.get<std::size_t>();
    for (auto tensors = unpacker.get<std::size_t>(); tensors > 0; --tensors) {
      get_picture(unpacker, picture.tensors.emplace_back());
    }
  }
}

}  // namespace vernier::records
