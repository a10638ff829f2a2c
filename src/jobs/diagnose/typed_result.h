// The typed model that a diagnosis ends with: lowered from a plan, written, and measured as a file.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "jobs/common/load.h"
#include "jobs/common/runtime_check.h"
#include "jobs/common/sources.h"
#include "jobs/search/experiment.h"
#include "jobs/search/measured.h"
#include "jobs/search/objective.h"
#include "plan/lower_typed.h"
#include "vernier/diagnose.h"
#include "vernier/external_data.h"
#include "vernier/note.h"
#include "vernier/report/figures.h"
#include "vernier/report/typed.h"
#include "vernier/report/verify.h"
#include "vernier/verify.h"

namespace vernier {

/// What is known of a typed model once it is written.
struct Verification {
  std::optional<RunFigures> figures{};
  std::optional<RunFigures> in_sample{};
  std::optional<OtherSums> other_sums{};
  std::optional<SaturatedPairs> saturated_pairs{};
  std::optional<NotSimulated> not_simulated{};
  std::optional<EngineFigures> engine{};
  std::vector<Note> doubts{};
  std::optional<TestRow> file_test{}, engine_test{};  // where an objective decides
};

/// The typed models of one network. All arguments must outlive it.
class TypedResult {
 public:
  TypedResult(const DiagnoseOptions& options, Sources& sources, const Loaded& loaded, Experiment& experiment)
      : options_(options), sources_(sources), loaded_(loaded), experiment_(experiment) {}

  /// The model that `plan` says, as a file would hold it.
  TypedModel lowered(const Plan& plan);
  /// The same with only `kept` raised.
  Model trial(const std::vector<std::string>& kept);
  /// That, into `path`: for whoever tries it.
  void write_trial(const std::vector<std::string>& kept, const std::filesystem::path& path);

  /// Lowers `plan` and, where there is a folder, writes it as model.onnx and plan.json; `files` gets their paths.
  TypedReport write(const Plan& plan, std::map<std::string, std::string>& files);
  /// What was written last, measured: the claim. Where there is a folder the file is read again, so that what is
  /// claimed is true of it; the float model and the samples are those that the job has read. Where an earlier run
  /// measured just these bytes on just these samples, its figures are taken from `measured`. The engine is the one
  /// that is to confirm the file; of a file for ONNX Runtime else that of deciding_by_default().
  Verification verify(Measured& measured);
  /// The same of what `plan` gives, which keeps `kept` and which nobody has written; also by `objective`, if any.
  Verification verify(const Plan& plan, const std::vector<std::string>& kept, const Objective* objective,
                      Measured& measured);
  /// The same in ONNX Runtime with its default optimizations, beside the outputs of the reference run, measured once;
  /// absent as figures_by_default(), and where nothing in it is quantized.
  const std::optional<RunFigures>& by_default(Measured& measured);
  /// The same of what `plan` gives, on every rank.
  std::optional<RunFigures> by_default(const Plan& plan, Measured& measured);
  /// Says in the file that was written last what it was made for and what came out, as `claims` has them: key of the
  /// signature (plan/signature.h) to words. Writes it again where there is a folder, so it comes last.
  OnnxModel sign(const std::map<std::string, std::string>& claims, const std::map<std::string, std::string>& files);
  /// What `plan` gives as a file; without the engine.
  VerifyReport measured(const Plan& plan);
  /// The same with int8 weights in 7 bits. nullopt: pairs of products saturate all the same.
  std::optional<RunFigures> with_reduced_range(const Plan& plan);
  /// What was written last by an objective, which has layers `kept`, in the order of sums that is worse; `doubt` says
  /// where the two orders give different verdicts.
  TestRow judged_by(const Objective& objective, const std::vector<std::string>& kept, std::optional<Note>& doubt) const;
  /// What was written last.
  const Model& model() const { return typed_; }
  /// `typed` for samples of the float model: caches in INT8 are quantized in front of it, and dequantized behind.
  Model fed_with_floats(const Model& typed) const;
  /// Where it is tried in ONNX Runtime: users of a file for TensorRT have a GPU, and of the others this CPU decides.
  DefaultPlace place() const;

 private:
  Verification verification(const Model& written, VerifyOptions options, Measured& measured);
  /// by_default() of the first rank, on every rank: integer kernels differ from one processor to another.
  const std::optional<RunFigures>& by_default_of_first(Measured& measured);
  /// The record of what was written last, for the requirement of the job; `what` tells records of one file apart.
  std::string record_name(const Model& written, const std::string& what = {}) const;
  VerifyOptions verify_options() const;
  const Model& exported();

  const DiagnoseOptions& options_;
  Sources& sources_;
  const Loaded& loaded_;
  Experiment& experiment_;  // of the network
  Model typed_;
  std::optional<std::optional<RunFigures>> by_default_;  // of typed_; none: not measured yet
  Model exported_;
};

/// Where there is a folder: `network`, a rewritten float model, as float.onnx, which `plan` belongs to from here on.
void write_float(const DiagnoseOptions& options, const Loaded& loaded, const Model& network, Plan& plan,
                 std::map<std::string, std::string>& files);

}  // namespace vernier
