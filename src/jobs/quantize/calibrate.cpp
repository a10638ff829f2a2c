// `vernier calibrate`: ranges, what was left out of them, and whether the samples were enough.

#include "plan/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "base/version.h"
#include "engines/onnxruntime/runtime.h"
#include "jobs/common/calibrated_plan.h"
#include "jobs/common/load.h"
#include "jobs/common/output_files.h"
#include "jobs/common/sources.h"
#include "jobs/common/stopwatch.h"
#include "jobs/data_check/check_inputs.h"
#include "jobs/quantize/sufficiency.h"
#include "numerics/grid.h"
#include "numerics/range_methods.h"
#include "plan/scheme.h"
#include "vernier/calibrate.h"
#include "vernier/calibration.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/measure.h"
#include "vernier/report/calibrate.h"
#include "vernier/report/figures.h"
#include "vernier/run.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"

namespace vernier {
namespace {

RangesForm form_of(const CalibrateOptions& options) {
  if (options.output_form) return *options.output_form;
  const std::string extension = options.output.extension().string();
  return extension == ".cache" || extension == ".calib" ? RangesForm::TensorRt : RangesForm::Vernier;
}

void fill_counts(RangeRow& row, const Reference& reference) {
  const auto found = reference.ranges.find(row.tensor);
  if (found == reference.ranges.end()) return;
  const RangeStats& seen = found->second;
  row.count = seen.count;
  row.nonfinite = seen.nonfinite;
  row.seen_min = seen.empty() ? 0 : seen.min;
  row.seen_max = seen.empty() ? 0 : seen.max;
}

std::uint64_t mixed(std::uint64_t hash, std::uint64_t part) {
  return (hash ^ part) * 0x9E3779B97F4A7C15U + (hash >> 29U);
}

/// In lanes that do not wait for each other: small networks take no longer than a hash of their input.
std::uint64_t hash_of(std::span<const std::byte> bytes) {
  std::array<std::uint64_t, 4> lanes{1, 2, 3, 4};
  std::array<std::uint64_t, 4> words{};
  for (; bytes.size() >= sizeof words; bytes = bytes.subspan(sizeof words)) {
    std::memcpy(words.data(), bytes.data(), sizeof words);
    for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i] = mixed(lanes[i], words[i]);
  }
  words = {};
  if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  std::uint64_t hash = bytes.size();
  for (std::size_t i = 0; i < lanes.size(); ++i) hash = mixed(mixed(hash, lanes[i]), words[i]);
  return hash;
}

/// Passes samples on, and finds those that are the same by hashes of what they hold: 64 bits, for a figure in words.
class NotedSamples final : public SampleSource {
 public:
  NotedSamples(const SampleSource& all, const std::vector<Carry>& carries) : all_(all), sequence_(!carries.empty()) {}

  std::size_t size() const override { return all_.size(); }
  std::string description() const override { return all_.description(); }
  bool is_random() const override { return all_.is_random(); }

  Sample at(std::size_t index) const override {
    Sample sample = all_.at(index);
    std::uint64_t hash = 0;
    for (const auto& [name, value] : sample) {
      for (const std::int64_t dim : value.shape()) hash = mixed(hash, static_cast<std::uint64_t>(dim));
      hash = mixed(hash, hash_of(value.bytes()));
    }
    const std::lock_guard lock(mutex_);
    seen_.insert(hash);
    return sample;
  }

  /// How many are not the same as an earlier one; in a sequence the state differs, whatever is fed beside it.
  std::size_t distinct() const { return sequence_ ? size() : seen_.size(); }

 private:
  const SampleSource& all_;
  bool sequence_;
  mutable std::mutex mutex_;
  mutable std::set<std::uint64_t> seen_;
};

class Calibration {
 public:
  Calibration(const CalibrateOptions& options, const JobSinks& sinks) : options_(options), sinks_(sinks) {
    if (options_.precision.low.empty()) options_.precision.low = {Format::Int8};
  }

  CalibrateReport run() {
    Stopwatch watch(phases_);
    watch.phase("calibrate");
    keep_inputs_safe();
    load_model();
    quantized_ = formats_to_calibrate(subject().model, subject().layers, plan_);
    if (quantized_.empty()) {
      throw Error(ErrorCode::NothingToLower,
                  fmt::format("{}: no layer takes a format with a scale: there is nothing to calibrate",
                              options_.model.name()));
    }
    if (const auto cached = read_calibration_cache(options_.measure.calibration_cache, *loaded_.original,
                                                   subject().layers, quantized_, choice())) {
      from_cache(*cached);
    } else {
      from_samples();
    }
    watch.stop();
    if (loaded_.partial) loaded_.partial->done();
    report_.seconds = phases_.front().seconds;
    return report_;
  }

 private:
  const Subject& subject() const { return loaded_.subject; }
  const CalibrationChoice& choice() const { return options_.precision.calibration; }

  void warn(const Note& note) {
    report_.warnings.push_back(note);
    sinks_.warn(note);
  }

  void keep_inputs_safe() const {
    std::vector<std::filesystem::path> inputs = source_files(options_.measure);
    inputs.push_back(options_.model.file());
    if (!options_.measure.calibration_cache.empty()) refuse_to_overwrite(options_.measure.calibration_cache, inputs);
    inputs.push_back(options_.measure.calibration_cache);
    if (!options_.output.empty()) refuse_to_overwrite(options_.output, inputs);
  }

  void load_model() {
    MeasureOptions measure = options_.measure;
    if (measure.calibration_data) measure.data = *std::exchange(measure.calibration_data, std::nullopt);
    Sources sources(measure, sinks_);
    if (choice().method != CalibrationMethod::Automatic) sources.output_parts.emplace();  // outputs judge nothing
    loaded_ = load_judged(options_.model, preparation_of(options_.precision), sources);
    report_.notes = loaded_.notes;
    PrecisionOptions precision = options_.precision;
    precision.even_if_slower = true;  // the ranges are for whatever will be quantized with them
    AssignedFormats assigned = assign_formats(subject().model, subject().layers, precision);
    for (const Note& note : assigned.warnings) warn(note);
    plan_ = std::move(assigned.plan);
    report_.command = options_.command;
    report_.vernier_version = vernier_version();
    report_.onnxruntime_version = subject().runtime->version();
    report_.on_gpu = subject().runtime->gpu() != nullptr;
    report_.model_file = options_.model.name();
    report_.model_sha256 = loaded_.original->sha256;
    report_.data = loaded_.samples->description();
    report_.samples = loaded_.samples->size();
    report_.scheme = plan_.scheme;
    report_.method = choice_name(choice());
    if (choice().method == CalibrationMethod::Percentile) report_.method += fmt::format(":{}", choice().percentile);
  }

  void from_cache(const CachedCalibration& cached) {
    for (const Note& note : cached.warnings) warn(note);
    report_.ranges_from = fmt::format("{} ({})", options_.measure.calibration_cache.string(), cached.cache.kind);
    report_.method = "as in the file";
    report_.scheme = scheme_text(options_.precision, cached.scheme_words);
    report_.notes.push_back(cached.note);
    for (const auto& [name, format] : quantized_) {
      const RangeStats& range = cached.cache.ranges.at(name);
      RangeRow row;
      row.tensor = name;
      row.format = format;
      row.min = range.min;
      row.max = range.max;
      report_.tensors.push_back(row);
    }
    if (!options_.output.empty()) write_output(cached.cache.ranges);
  }

  void from_samples() {
    for (const Note& note : loaded_.warnings) warn(note);  // of the samples, which a cache makes unnecessary
    check_method(choice(), quantized_);
    const std::filesystem::path& cache = options_.measure.calibration_cache;
    const bool to_file = !cache.empty() || !options_.output.empty();
    const std::map<std::string, Format> tensors = to_file ? tensors_for_file(subject().layers, quantized_) : quantized_;
    std::set<std::string> observed;
    for (const auto& [name, format] : tensors) observed.insert(name);
    const NotedSamples noted(*loaded_.samples, subject().carries);
    Subject own = subject();
    own.samples = &noted;
    if (options_.measure.batch > 1) set_batch(own, options_.measure.batch);
    own.one_by_one = [this](const Note& note) { warn(note); };
    const bool ends = to_count(choice(), tensors).empty();  // are all that the method looks at: a fifth of the work
    Reference reference =
        run_reference(own, observed, observed, ends ? Counting::Ends : Counting::All, loaded_.partial.get());
    report_.data_sha256 = reference.data_sha256;
    if (const auto found = input_warning(loaded_, sinks_, &reference.outputs)) warn(*found);
    const LearnedRanges learned = learn_ranges(subject(), plan_, tensors, choice(), reference, loaded_.partial.get());
    if (const auto resumed = resumed_note(loaded_)) report_.notes.push_back(*resumed);
    for (const Note& note : learned.warnings) warn(note);
    if (!learned.answer.empty()) report_.answer = "calibration by auto: " + learned.answer;
    for (const bool quantized : {true, false}) {
      for (const auto& [name, format] : tensors) {
        if (quantized_.contains(name) == quantized && learned.chosen.ranges.contains(name)) {
          report_.tensors.push_back(row_of(name, format, quantized, learned, reference));
        }
      }
    }
    warn_of_nonfinite();
    report_.sufficiency =
        sufficiency_of(report_.tensors, report_.samples, noted.distinct(), loaded_.samples->is_random());
    for (const Note& note : write_calibration_cache(cache, *loaded_.original, quantized_, learned, choice(),
                                                    loaded_.samples->is_random())) {
      warn(note);
    }
    if (!cache.empty() && !loaded_.samples->is_random()) report_.files["cache"] = cache.string();
    if (!options_.output.empty()) write_output(learned.chosen.ranges);
  }

  RangeRow row_of(const std::string& name, Format format, bool quantized, const LearnedRanges& learned,
                  const Reference& reference) const {
    RangeRow row;
    row.tensor = name;
    row.format = format;
    row.quantized = quantized;
    const auto method = learned.methods.find(name);
    row.method = method == learned.methods.end() ? report_.method : method->second;
    const RangeStats& range = learned.chosen.ranges.at(name);
    row.min = range.empty() ? 0 : range.min;
    row.max = range.empty() ? 0 : range.max;
    fill_counts(row, reference);
    if (const auto mask = learned.chosen.masks.find(name); mask != learned.chosen.masks.end()) {
      row.mask = MaskReport{mask->second.low, mask->second.high, mask->second.count};
    }
    fill_sufficiency(row, reference);
    return row;
  }

  void warn_of_nonfinite() {
    for (const RangeRow& row : report_.tensors) {
      if (row.nonfinite == 0) continue;
      warn({"values-not-finite", {{"tensor", row.tensor}, {"count", row.nonfinite}, {"of", row.count}}});
    }
  }

  void write_output(const RangesByTensor& ranges) {
    if (loaded_.samples->is_random() && report_.ranges_from.empty()) {
      warn({"random-ranges-written", {{"file", options_.output.string()}}});
    }
    if (form_of(options_) == RangesForm::TensorRt) {
      const bool asymmetric =
          std::ranges::any_of(quantized_, [](const auto& tensor) { return is_unsigned(tensor.second); });
      if (asymmetric) {
        warn({"symmetric-output", {{"file", options_.output.string()}}});
      }
    }
    replace_file(options_.output, ranges_text(form_of(options_), ranges, choice(), *loaded_.original));
    report_.files["ranges"] = options_.output.string();
  }

  CalibrateOptions options_;
  const JobSinks& sinks_;
  CalibrateReport report_;
  std::vector<PhaseTime> phases_;
  Loaded loaded_;
  Plan plan_;
  std::map<std::string, Format> quantized_;
};

}  // namespace

CalibrateReport calibrate(const CalibrateOptions& options, const JobSinks& sinks) {
  return Calibration(options, sinks).run();
}

}  // namespace vernier
