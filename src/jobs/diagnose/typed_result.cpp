#include "jobs/diagnose/typed_result.h"

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/judged_views.h"
#include "base/file.h"
#include "distributed/ranks.h"
#include "engines/onnxruntime/runtime.h"
#include "jobs/common/typed_file.h"
#include "jobs/search/judge.h"
#include "jobs/search/kept_set_report.h"
#include "jobs/verify/default_optimizations.h"
#include "jobs/verify/near_limit.h"
#include "jobs/verify/verify.h"
#include "model/contents.h"
#include "plan/float_interface.h"
#include "plan/signature.h"
#include "report/json/fields_figures.h"

namespace vernier {
namespace {

Verification verification_of(VerifyReport report) {
  return {std::move(report.figures),       {},
          std::move(report.other_sums),    std::move(report.saturated_pairs),
          std::move(report.not_simulated), std::move(report.engine),
          std::move(report.warnings),      std::move(report.test),
          std::move(report.engine_test)};
}

std::string words_of(const std::optional<RunFigures>& figures) {
  return figures ? json_text(json_of(*figures)) : std::string();
}

constexpr const char* kKept = "kept figures";

std::optional<RunFigures> figures_in(const std::string& words) {
  return words.empty() ? std::nullopt : std::optional(parse_as<RunFigures>(words, kKept));
}

/// For files beside the result: its own external data keep their name.
ExternalDataOptions external_data_of_others(const DiagnoseOptions& options) {
  ExternalDataOptions external = options.external_data;
  external.file.clear();
  return external;
}

}  // namespace

/// What is kept of it: that of the file alone.
template <>
struct Fields<Verification> {
  static constexpr auto list =
      std::tuple{Field{"figures", &Verification::figures}, Field{"other_sums", &Verification::other_sums},
                 Field{"saturated_pairs", &Verification::saturated_pairs},
                 Field{"not_simulated", &Verification::not_simulated}, Field{"warnings", &Verification::doubts}};
};

/// The model that typed lowering edits: prepared, but with its Ifs as the file has them.
const Model& TypedResult::exported() {
  const Subject& subject = experiment_.subject();
  if (!loaded_.inlined_ifs && loaded_.views.empty()) return subject.model;
  if (exported_.proto.ByteSizeLong() > 0) return exported_;
  if (loaded_.inlined_ifs) {
    PrepareOptions prepare_options = loaded_.preparation;
    prepare_options.min_opset = default_opset(subject.model.proto);
    exported_ = prepare(*loaded_.original, prepare_options, evaluator(subject.runtime)).model;
  } else {
    exported_ = subject.model;
    give_back_outputs(exported_, loaded_.views);
  }
  return exported_;
}

TypedModel TypedResult::lowered(const Plan& plan) {
  return lower_typed(exported(), plan, /*strict=*/false, experiment_.subject().progress);
}

Model TypedResult::trial(const std::vector<std::string>& kept) { return lowered(experiment_.plan_keeping(kept)).model; }

void TypedResult::write_trial(const std::vector<std::string>& kept, const std::filesystem::path& path) {
  write_model(trial(kept), path, {external_data_of_others(options_)});
}

TypedReport TypedResult::write(const Plan& plan, std::map<std::string, std::string>& files) {
  TypedModel typed = lowered(plan);
  TypedReport info;
  info.casts = typed.casts;
  info.quantize_pairs = typed.quantize_pairs;
  info.quantized_weights = typed.quantized_weights;
  info.quantized_biases = typed.quantized_biases;
  info.weight_bytes = typed.weight_bytes;
  info.float_weights = typed.float_weights;
  info.original_weight_bytes = weight_bytes(*loaded_.original);
  info.lowered = typed.lowered;
  info.refused = typed.refused.size();
  info.notes = typed.notes;
  info.plan = plan_to_json(plan);
  if (!options_.output.empty()) {
    const std::filesystem::path file = options_.output / "model.onnx";
    write_model(typed.model, file, {options_.external_data});
    info.file = file.string();
    files["model"] = file.string();
    const std::filesystem::path plan_file = options_.output / "plan.json";
    replace_file(plan_file, info.plan);
    files["plan"] = plan_file.string();
  }
  typed_ = std::move(typed.model);
  by_default_.reset();
  if (!info.file.empty() && (options_.external_data.wanted || bytes_beside(typed_) > kLargeWeights)) {
    typed_ = read_model(info.file);  // mapped, weights take no memory
    typed_.data_files.clear();       // sign() replaces them; what is mapped stays
  }
  info.model = result_of(typed_, info.file);
  return info;
}

OnnxModel TypedResult::sign(const std::map<std::string, std::string>& claims,
                            const std::map<std::string, std::string>& files) {
  for (const auto& [key, words] : claims) add_to_signature(typed_, key, words);
  const auto file = files.find("model");
  if (file == files.end()) return result_of(typed_, {});
  write_model(typed_, file->second, {options_.external_data});
  return file->second;
}

Model TypedResult::fed_with_floats(const Model& typed) const {
  return vernier::fed_with_floats(typed, *loaded_.original);
}

VerifyOptions TypedResult::verify_options() const {
  VerifyOptions options;
  options.float_model = options_.model;
  options.measure = options_.measure;
  options.target = options_.precision.target;
  options.arithmetic = options_.precision.arithmetic;
  options.engine = options_.engine;
  options.layers_on_engine = false;
  return options;
}

Verification TypedResult::verify(Measured& measured) {
  VerifyOptions options = verify_options();
  if (options_.output.empty() || !job_ranks().first()) return verification(typed_, std::move(options), measured);
  options.typed_model = options_.output / "model.onnx";
  const Model written = read_typed_file(options.typed_model);
  return verification(written, std::move(options), measured);
}

Verification TypedResult::verify(const Plan& plan, const std::vector<std::string>& kept, const Objective* objective,
                                 Measured& measured) {
  TypedResult unwritten(options_, sources_, loaded_, experiment_);
  unwritten.typed_ = lowered(plan).model;
  Verification file = unwritten.verification(unwritten.typed_, verify_options(), measured);
  if (objective == nullptr || file.file_test) return file;
  std::optional<Note> unsaid;
  file.file_test = unwritten.judged_by(*objective, kept, unsaid);
  return file;
}

Verification TypedResult::verification(const Model& written, VerifyOptions options, Measured& measured) {
  options.on = options_.confirm_on;
  if (options_.search.task.labels || options_.confirm_on) options.task = options_.search.task;
  const JobSinks quiet;  // what there is to say was said when the model was loaded
  const OutputStore* const known = &experiment_.reference().outputs;
  const auto measure = [&] {
    return verification_of(verify_model(fed_with_floats(written), options, sources_, quiet, known));
  };
  const auto kept = [&] {
    if (!measured.keeps() || options.task.labels || options.on) return measure();
    const auto words = [&] { return json_text(json_of(measure())); };
    return parse_as<Verification>(measured.words(record_name(written), words), kKept);
  };
  Verification file = kept();
  if (options_.precision.target != Target::OnnxRuntime || options.on) return file;
  const std::optional<RunFigures>& there = by_default_of_first(measured);
  if (!there) return file;
  file.engine = deciding_by_default(*there, *file.figures, file.saturated_pairs, loaded_.subject.runtime->version());
  if (!file.engine || options_.search.task.empty()) return file;
  options.task = options_.search.task;
  options.on = MeasureOn::OnnxRuntime;
  return measure();
}

std::string TypedResult::record_name(const Model& written, const std::string& what) const {
  std::string name = "file " + content_sha256(written) + what;
  if (options_.measure.requirement) name += " for " + json_text(json_of(*options_.measure.requirement));
  return name;
}

const std::optional<RunFigures>& TypedResult::by_default_of_first(Measured& measured) {
  if (job_ranks().alone()) return by_default(measured);
  Packer packer;
  if (job_ranks().first()) packer.put(words_of(by_default(measured)));
  const std::vector<Message> all = job_ranks().share(packer.take());
  return by_default_.emplace(figures_in(Unpacker(all.front()).get_text()));
}

DefaultPlace TypedResult::place() const {
  return options_.precision.target == Target::TensorRt ? DefaultPlace::Device : DefaultPlace::Cpu;
}

const std::optional<RunFigures>& TypedResult::by_default(Measured& measured) {
  if (by_default_) return *by_default_;
  const std::optional<Requirement> limit = verify_options().measure.requirement;
  const auto measure = [&]() -> std::optional<RunFigures> {
    if (!holds_quantized_values(typed_)) return std::nullopt;
    return figures_by_default(fed_with_floats(typed_), loaded_, limit ? &*limit : nullptr,
                              &experiment_.reference().outputs, nullptr, place());
  };
  if (!measured.keeps()) return by_default_.emplace(measure());
  const auto words = [&] { return words_of(measure()); };
  return by_default_.emplace(figures_in(measured.words(record_name(typed_, " by default"), words)));
}

std::optional<RunFigures> TypedResult::by_default(const Plan& plan, Measured& measured) {
  TypedResult unwritten(options_, sources_, loaded_, experiment_);
  unwritten.typed_ = lowered(plan).model;
  return unwritten.by_default_of_first(measured);
}

VerifyReport TypedResult::measured(const Plan& plan) {
  const Model model = as_typed_file(lowered(plan).model);
  return verify_model(fed_with_floats(model), verify_options(), sources_, {});
}

std::optional<RunFigures> TypedResult::with_reduced_range(const Plan& plan) {
  Plan reduced = plan;
  for (auto& [tensor, grid] : reduced.tensors) {
    if (grid.format != Format::Int8 || grid.block > 0 || !is_initializer(exported(), tensor)) continue;
    for (float& scale : grid.scale) scale *= 127.0F / 63.0F;
  }
  VerifyReport report = measured(reduced);
  if (report.saturated_pairs) return std::nullopt;
  return std::move(report.figures);
}

TestRow TypedResult::judged_by(const Objective& objective, const std::vector<std::string>& kept,
                               std::optional<Note>& doubt) const {
  const auto test = [&](const Subject& subject) {
    Judge judge(experiment_, &objective, /*early_stop=*/false);
    judge.run_with(subject);
    Model written = simulate_typed(fed_with_floats(typed_), options_.precision.arithmetic).model;
    fit_beside(written, loaded_);
    return row_of(kept, judge.of_model(std::move(written), /*early_stop=*/false));
  };
  TestRow row = test_in_both_orders(experiment_.subject(), test, doubt);
  if (row.verdict != Verdict::Good) row.verdict = Verdict::Bad;
  return row;
}

void write_float(const DiagnoseOptions& options, const Loaded& loaded, const Model& network, Plan& plan,
                 std::map<std::string, std::string>& files) {
  Model repaired = network;
  give_back_outputs(repaired, loaded.views);
  if (options.output.empty()) {  // the plan fits no file that is there
    plan.model_file = "float.onnx, which was not written";
    plan.model_sha256 = content_sha256(repaired);
    return;
  }
  const std::filesystem::path file = options.output / "float.onnx";
  write_model(repaired, file, {external_data_of_others(options)});
  files["float"] = file.string();
  plan.model_file = file.string();
  plan.model_sha256 = read_model(file).sha256;
}

}  // namespace vernier
