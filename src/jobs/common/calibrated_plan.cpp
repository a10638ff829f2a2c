#include "jobs/common/calibrated_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "analysis/automatic_ranges.h"
#include "analysis/masked_ranges.h"
#include "analysis/reference.h"
#include "base/file.h"
#include "base/file_lock.h"
#include "base/text.h"
#include "distributed/ranks.h"
#include "model/operator_traits.h"
#include "numerics/grid.h"
#include "plan/calibrate.h"
#include "plan/scheme.h"
#include "vernier/calibration.h"
#include "vernier/format.h"
#include "vernier/precision.h"
#include "vernier/samples.h"

namespace vernier {
namespace {

std::set<std::string> names_of(const std::map<std::string, Format>& tensors) {
  std::set<std::string> names;
  for (const auto& [name, format] : tensors) names.insert(name);
  return names;
}

/// Every tensor that the file knows, under the names that it gives them.
std::set<std::string> tensors_of(const Model& model) {
  std::set<std::string> names;
  for (const InputInfo& input : model_inputs(model)) names.insert(input.name);
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) names.insert(node.output().begin(), node.output().end());
    for (const onnx::TensorProto& tensor : graph.initializer()) names.insert(tensor.name());
  });
  return names;
}

bool any_asymmetric(const std::map<std::string, Format>& tensors) {
  return std::ranges::any_of(tensors, [](const auto& tensor) { return is_unsigned(tensor.second); });
}

std::vector<Note> mask_warnings(const ChosenRanges& chosen) {
  std::vector<Note> warnings;
  for (const auto& [tensor, mask] : chosen.masks) {
    warnings.push_back({"mask-left-out",
                        {{"tensor", tensor},
                         {"count", mask.count},
                         {"value", mask.low < 0 ? mask.low : mask.high},
                         {"within", mask.ordinary}}});
  }
  return warnings;
}

/// Ranges of tensors that preparing the model made, from those of the tensors that the file knows.
void add_made_tensors(RangesByTensor& ranges, const std::vector<Layer>& layers, const std::set<std::string>& known) {
  for (const Layer& layer : layers) {
    for (const std::string& output : layer.outputs) {
      if (known.contains(output) || ranges.contains(output)) continue;
      if (layer.traits.any(Trait::UnitRange)) ranges[output] = {.min = 0, .max = 1};
      if (!layer.follows || layer.inputs.size() != 1) continue;
      if (const auto source = ranges.find(layer.inputs.front()); source != ranges.end()) {
        const RangeStats moved = source->second;
        ranges[output] = moved;
      }
    }
  }
}

/// Counts what the run did not, in a second one over the same samples.
void count_missing(const Subject& subject, const std::set<std::string>& wanted, Reference& reference) {
  std::set<std::string> missing;
  for (const std::string& tensor : wanted) {
    if (reference.ranges.contains(tensor) && !reference.histograms.contains(tensor)) missing.insert(tensor);
  }
  if (missing.empty()) return;
  Reference counted = run_reference(subject, {}, missing);
  reference.histograms.merge(counted.histograms);
}

}  // namespace

std::map<std::string, Format> tensors_for_file(const std::vector<Layer>& layers,
                                               const std::map<std::string, Format>& quantized) {
  std::map<std::string, Format> tensors = quantized;
  if (quantized.empty()) return tensors;
  const Format format = quantized.begin()->second;
  for (const Layer& layer : layers) {
    if (!layer.graph.empty()) continue;
    for (const std::string& name : layer.inputs) tensors.emplace(name, format);
    for (const std::string& name : layer.outputs) tensors.emplace(name, format);
  }
  return tensors;
}

LearnedRanges learn_ranges(const Subject& subject, const Plan& plan, const std::map<std::string, Format>& tensors,
                           const CalibrationChoice& choice, Reference& reference, PartialRuns* partial) {
  std::set<std::string> wanted = to_count(choice, tensors);
  wanted.merge(maybe_masked(tensors, reference.ranges));
  count_missing(subject, wanted, reference);
  LearnedRanges learned;
  if (choice.method == CalibrationMethod::Automatic) {
    AutomaticRanges automatic =
        telling_way_on(partial, [&] { return choose_automatically(subject, plan, tensors, reference, partial); });
    learned.chosen = std::move(automatic.chosen);
    learned.methods = std::move(automatic.methods);
    learned.answer = automatic.answer;
  } else {
    learned.chosen = choose_ranges(choice, tensors, reference, subject.threads);
  }
  reach_below_masks(learned.chosen, subject.model);
  learned.warnings = mask_warnings(learned.chosen);
  return learned;
}

std::optional<CachedCalibration> read_calibration_cache(const std::filesystem::path& file, const Model& original,
                                                        const std::vector<Layer>& layers,
                                                        const std::map<std::string, Format>& tensors,
                                                        const CalibrationChoice& choice, Lacking lacking) {
  std::error_code absent;
  if (file.empty() || tensors.empty() || !std::filesystem::exists(file, absent)) return std::nullopt;
  const std::string text = read_text(file);
  if (text.empty()) return std::nullopt;
  CachedCalibration cached;
  cached.cache = calibration_cache_from_text(text, file.string());
  const std::set<std::string> known = tensors_of(original);
  add_made_tensors(cached.cache.ranges, layers, known);
  require_cache_of(cached.cache, file.string(), original.sha256, names_of(tensors), known,
                   lacking == Lacking::Allow ? &cached.lacking : nullptr);
  cached.scheme_words = "ranges of " + file.string();
  cached.note = {"ranges-from-cache",
                 {{"tensors", tensors.size()}, {"file", file.string()}, {"kind", cached.cache.kind}}};
  if (choice.method != CalibrationMethod::MinMax) {
    cached.warnings.push_back({"method-without-say", {{"file", file.string()}, {"method", choice_name(choice)}}});
  }
  if (cached.cache.symmetric && any_asymmetric(tensors)) {
    cached.warnings.push_back({"symmetric-cache", {{"file", file.string()}}});
  }
  return cached;
}

std::string ranges_text(RangesForm form, const RangesByTensor& ranges, const CalibrationChoice& choice,
                        const Model& original) {
  if (form == RangesForm::TensorRt) return to_tensorrt_cache(ranges);
  if (form == RangesForm::Vernier) {
    return to_ranges_json(ranges, choice_name(choice), original.path.filename().string(), original.sha256);
  }
  // Its own three; what else chose the ends is to its reader a smallest and a largest value.
  const bool known = choice.method == CalibrationMethod::Entropy || choice.method == CalibrationMethod::Percentile;
  return to_onnxruntime_json(ranges, !known                                        ? "MinMax"
                                     : choice.method == CalibrationMethod::Entropy ? "Entropy"
                                                                                   : "Percentile");
}

std::vector<Note> write_calibration_cache(const std::filesystem::path& file, const Model& original,
                                          const std::map<std::string, Format>& tensors, const LearnedRanges& learned,
                                          const CalibrationChoice& choice, bool random_data) {
  if (file.empty() || !job_ranks().first()) return {};
  if (random_data) return {{"random-ranges-not-written", {{"file", file.string()}}}};
  const bool json = file.extension() == ".json";
  // There was no file when this job began, or this would not be written: another job may have made one since.
  const FileLock turn(file);
  RangesByTensor ranges = learned.chosen.ranges;
  std::error_code absent;
  if (std::filesystem::is_regular_file(file, absent) && std::filesystem::file_size(file, absent) > 0) {
    const std::string where = printable(file.string());
    ranges = merged_ranges(calibration_cache_from_text(read_text(file), where), where, std::move(ranges), json,
                           original.sha256);
  }
  replace_file(file, ranges_text(json ? RangesForm::Vernier : RangesForm::TensorRt, ranges, choice, original));
  if (json || !any_asymmetric(tensors)) return {};
  return {{"symmetric-cache-written", {{"file", file.string()}}}};
}

FilledScales fill_scales(Plan& plan, const Model& model, const std::vector<Layer>& layers,
                         const PrecisionOptions& precision, const CachedCalibration& cached) {
  FilledScales filled{cached.warnings, {cached.note}};
  append(filled.warnings, calibrate_plan(plan, model, layers, cached.cache.ranges));
  plan.scheme = scheme_text(precision, cached.scheme_words);
  return filled;
}

FilledScales fill_scales(Plan& plan, const Model& model, const std::vector<Layer>& layers, const Subject& subject,
                         const std::map<std::string, Format>& tensors, const CalibrationChoice& choice, Reference& seen,
                         const Model& original, const std::filesystem::path& cache_file, PartialRuns* partial) {
  const LearnedRanges learned = learn_ranges(subject, plan, tensors, choice, seen, partial);
  FilledScales filled{learned.warnings, {}};
  if (!learned.answer.empty()) filled.notes.push_back({"automatic-calibration", {{"answer", learned.answer}}});
  append(filled.warnings, calibrate_plan(plan, model, layers, learned.chosen.ranges, subject.progress));
  if (!learned.answer.empty()) plan.scheme += "; calibration by auto: " + learned.answer;
  append(filled.warnings,
         write_calibration_cache(cache_file, original, tensors, learned, choice, subject.samples->is_random()));
  return filled;
}

void fill_lacking(CachedCalibration& cached, const std::filesystem::path& file, const Plan& plan,
                  const Subject& subject, std::map<std::string, Format> tensors, const CalibrationChoice& choice) {
  if (cached.lacking.empty()) return;
  std::erase_if(tensors, [&](const auto& entry) { return !cached.lacking.contains(entry.first); });
  check_method(choice, tensors);
  Reference seen = run_reference(subject, names_of(tensors), to_count(choice, tensors));
  LearnedRanges learned = learn_ranges(subject, plan, tensors, choice, seen, nullptr);
  append(cached.warnings, learned.warnings);
  cached.warnings.push_back({"ranges-lacking",
                             {{"file", file.string()},
                              {"tensors", std::vector<std::string>(cached.lacking.begin(), cached.lacking.end())},
                              {"data", subject.samples->description()}}});
  cached.cache.ranges.merge(learned.chosen.ranges);
}

bool calibrate_from_cache(Plan& plan, const Model& model, const std::vector<Layer>& layers, const Model& original,
                          const PrecisionOptions& precision, const std::filesystem::path& cache_file,
                          std::vector<Note>& warnings, Lacking lacking) {
  const auto cached = read_calibration_cache(cache_file, original, layers, formats_to_calibrate(model, layers, plan),
                                             precision.calibration, lacking);
  if (cached && !cached->lacking.empty()) return false;
  if (cached) append(warnings, fill_scales(plan, model, layers, precision, *cached).warnings);
  return cached.has_value();
}

std::vector<Note> calibrate_on_samples(Plan& plan, const Model& model, const std::vector<Layer>& layers,
                                       const Loaded& loaded, const PrecisionOptions& precision,
                                       const std::filesystem::path& cache_file) {
  std::map<std::string, Format> tensors = formats_to_calibrate(model, layers, plan);
  if (tensors.empty()) return calibrate_plan(plan, model, layers, {}, loaded.subject.progress);
  std::vector<Note> warnings;
  Subject subject = loaded.subject;
  if (loaded.calibration) subject.samples = loaded.calibration.get();
  const CalibrationChoice& choice = precision.calibration;
  const Lacking lacking = subject.samples->is_random() ? Lacking::Refuse : Lacking::Allow;
  if (auto cached = read_calibration_cache(cache_file, *loaded.original, layers, tensors, choice, lacking)) {
    fill_lacking(*cached, cache_file, plan, subject, tensors, choice);
    append(warnings, fill_scales(plan, model, layers, precision, *cached).warnings);
    return warnings;
  }
  check_method(choice, tensors);
  if (!cache_file.empty() && !subject.samples->is_random()) tensors = tensors_for_file(layers, tensors);
  // The same tensors as diagnose observes: each Observe stops a fusion, and a fusion moves the last bits of a range.
  std::set<std::string> observed = tensors_to_observe(subject);
  observed.merge(names_of(tensors));
  Reference seen = run_reference(subject, observed, to_count(choice, tensors), Counting::All, loaded.partial.get());
  return fill_scales(plan, model, layers, subject, tensors, choice, seen, *loaded.original, cache_file,
                     loaded.partial.get())
      .warnings;
}

}  // namespace vernier
