// From precision options to a plan that is ready to be lowered: ranges from samples, by any method, or from a
// calibration cache.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/chosen_ranges.h"
#include "jobs/common/load.h"
#include "plan/calibration_cache.h"
#include "plan/plan.h"
#include "vernier/calibrate.h"
#include "vernier/calibration.h"
#include "vernier/format.h"
#include "vernier/note.h"
#include "vernier/precision.h"

namespace vernier {

/// What calibration of some tensors came to.
struct LearnedRanges {
  ChosenRanges chosen;
  std::map<std::string, std::string> methods;  // automatic: of each tensor
  std::vector<Note> warnings;                  // masks that were left out
  std::string answer;                          // automatic: what won
};

/// Ranges of `tensors` from a reference run over the samples of `subject`. Values that the method needs and the run did
/// not count are counted in a second one. `plan`: formats of the subject's layers. `partial`, which may be null, keeps
/// what is tried.
LearnedRanges learn_ranges(const Subject& subject, const Plan& plan, const std::map<std::string, Format>& tensors,
                           const CalibrationChoice& choice, Reference& reference, PartialRuns* partial);

/// What a file of ranges holds: `quantized`, and every other tensor between layers of the main graph, for plans with
/// other layers or of another target, and for TensorRT, which looks all of them up. In the format of the first.
std::map<std::string, Format> tensors_for_file(const std::vector<Layer>& layers,
                                               const std::map<std::string, Format>& quantized);

/// Ranges from a cache, for tensors of one model.
struct CachedCalibration {
  CachedRanges cache;
  std::vector<Note> warnings;
  std::string scheme_words;       // "ranges of FILE", in place of a method
  Note note;                      // how many ranges of which kind of file
  std::set<std::string> lacking;  // tensors without a range in it, where that was allowed
};

/// What to do about a cache of this model without some of the ranges.
enum class Lacking { Refuse, Allow };

/// Absent when there is no such file (or an empty one, which peers take for none) or no tensor needs a range.
/// `layers`: of the prepared model. Tensors that preparing made, and no other program can know, take the range of what
/// they are moved from, or [0, 1] behind a Softmax or Sigmoid. `choice`: the method that was asked for and has no say.
/// Errors: Input for a file that is no cache, or one of another model.
std::optional<CachedCalibration> read_calibration_cache(const std::filesystem::path& file, const Model& original,
                                                        const std::vector<Layer>& layers,
                                                        const std::map<std::string, Format>& tensors,
                                                        const CalibrationChoice& choice,
                                                        Lacking lacking = Lacking::Refuse);

/// Learns what `cached`, read from `file`, lacks of `tensors` from the samples of `subject`; a warning names them, and
/// the file is left as it is. Does nothing when it lacks none. Cost: a run over the samples.
void fill_lacking(CachedCalibration& cached, const std::filesystem::path& file, const Plan& plan,
                  const Subject& subject, std::map<std::string, Format> tensors, const CalibrationChoice& choice);

/// Writes what was learned, in the form that the name asks for: TensorRT's text, or JSON under *.json. Returns
/// warnings; of random data nothing is written.
std::vector<Note> write_calibration_cache(const std::filesystem::path& file, const Model& original,
                                          const std::map<std::string, Format>& tensors, const LearnedRanges& learned,
                                          const CalibrationChoice& choice, bool random_data);

/// The text of a file of ranges.
std::string ranges_text(RangesForm form, const RangesByTensor& ranges, const CalibrationChoice& choice,
                        const Model& original);

/// What filling the scales of a plan had to say.
struct FilledScales {
  std::vector<Note> warnings;
  std::vector<Note> notes;  // where the ranges are from
};

/// Fills the scales of `plan`, whose layers are `layers` of `model`, from a cache; its scheme names the file.
FilledScales fill_scales(Plan& plan, const Model& model, const std::vector<Layer>& layers,
                         const PrecisionOptions& precision, const CachedCalibration& cached);

/// The same from `seen`, a reference run over the samples of `subject` (which may be prepared otherwise than `model`);
/// what was learned of `tensors`, which may be more than the plan quantizes, goes to `cache_file`.
FilledScales fill_scales(Plan& plan, const Model& model, const std::vector<Layer>& layers, const Subject& subject,
                         const std::map<std::string, Format>& tensors, const CalibrationChoice& choice, Reference& seen,
                         const Model& original, const std::filesystem::path& cache_file, PartialRuns* partial);

/// Both in one, for jobs that keep nothing of the calibration run: from the cache when it is there, or else from the
/// samples of `loaded`: its calibration samples where there are any. Ranges that the cache lacks are learned from
/// these, and a warning names them; the file is left as it is. Does nothing when no layer has a scaled format. Returns
/// warnings.
std::vector<Note> calibrate_on_samples(Plan& plan, const Model& model, const std::vector<Layer>& layers,
                                       const Loaded& loaded, const PrecisionOptions& precision,
                                       const std::filesystem::path& cache_file);

/// The same from the cache alone; false when there is none, or, where that is allowed, it lacks a range.
bool calibrate_from_cache(Plan& plan, const Model& model, const std::vector<Layer>& layers, const Model& original,
                          const PrecisionOptions& precision, const std::filesystem::path& cache_file,
                          std::vector<Note>& warnings, Lacking lacking = Lacking::Refuse);

}  // namespace vernier
