// The main job. run() below reads as the flow: each step one call, each timed.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "compare/effect.h"
#include "compare/lockstep.h"
#include "compare/own_error.h"
#include "compare/reference.h"
#include "compare/trials.h"
#include "core/file.h"
#include "core/text.h"
#include "engine/ort/runtime.h"
#include "flow/figures.h"
#include "flow/latency.h"
#include "flow/setup.h"
#include "flow/stopwatch.h"
#include "flow/verify.h"
#include "plan/lower_typed.h"
#include "plan/scheme.h"
#include "search/confirmed.h"
#include "vernier/error.h"
#include "vernier/jobs.h"

namespace vernier {
namespace {

/// Samples for single effects: mostly the hardest under all-low, the rest spread evenly, so that no single photo
/// decides.
std::vector<std::size_t> effect_samples(const std::vector<double>& noise, std::size_t wanted) {
  std::vector<std::size_t> order(noise.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return noise[a] > noise[b]; });
  std::vector<std::size_t> chosen(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(std::min(order.size(), (wanted + 1) / 2)));
  const std::size_t spread = std::min(wanted, order.size()) - chosen.size();
  for (std::size_t k = 0; k < spread; ++k) {
    std::size_t at = (2 * k + 1) * noise.size() / (2 * spread);
    while (std::find(chosen.begin(), chosen.end(), at % noise.size()) != chosen.end()) ++at;
    chosen.push_back(at % noise.size());
  }
  return chosen;
}

class Diagnosis {
 public:
  Diagnosis(const DiagnoseOptions& options, const JobSinks& sinks)
      : options_(options), sinks_(sinks), watch_(report_.phases) {}

  DiagnoseReport run() {
    describe();
    step("load", [&] { load_model(); });
    make_output_folder();
    try {
      step("reference run", [&] { reference(); });
      step("calibration", [&] { calibrate(); });
      step("own error", [&] { own_errors(); });
      step("all-low lock-step", [&] { all_low(); });
      step("effect on the output", [&] { effects(); });
      rank();
      if (requirement() != nullptr) {
        search();
      } else {
        step("curve", [&] { curve(); });
      }
      if (!report_.final_figures) write_and_verify();
      if (!stopped() && options_.latency) step("latency", [&] { latency(); });
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Interrupted) throw;
      watch_.stop();
      rank();
      warn("interrupted: what was not measured is absent");
      write_record();
      throw;
    }
    watch_.stop();
    write_record();
    return report_;
  }

 private:
  const Requirement* requirement() const {
    return options_.measure.requirement ? &*options_.measure.requirement : nullptr;
  }
  bool stopped() const { return sinks_.interrupted && sinks_.interrupted(); }

  template <class Body>
  void step(const std::string& name, const Body& body) {
    watch_.phase(name);
    body();
    say_seconds();
  }

  /// Ends the phase that runs, if any.
  void say_seconds() {
    if (!watch_.stop() || !sinks_.info) return;
    sinks_.info(fmt::format("{}: {:.2f} s", report_.phases.back().phase, report_.phases.back().seconds));
  }

  void warn(const std::string& text) {
    report_.warnings.push_back(text);
    if (sinks_.warning) sinks_.warning(text);
  }

  void describe() {
    if (options_.precision.low.empty()) {
      throw Error(ErrorKind::Usage, "no low precision was chosen", "give --int8, --fp16, --bf16 or --fp8");
    }
    report_.command = options_.command;
    report_.vernier_version = VERNIER_VERSION;
    report_.onnx_version = VERNIER_ONNX_VERSION;
    report_.machine = machine_text();
    report_.target = options_.precision.target;
    report_.low = options_.precision.low;
    report_.high = options_.precision.high;
    report_.requirement = options_.measure.requirement;
    report_.scheme = scheme_text(options_.precision);
    report_.runner = options_.precision.target == "tensorrt" ? "trt-sim" : "sim-" + options_.precision.target;
    report_.calibrated_on_evaluation_samples = !options_.measure.calibration_data.has_value();
  }

  void load_model() {
    std::set<Format> formats(options_.precision.low.begin(), options_.precision.low.end());
    formats.insert(options_.precision.high);
    for (const auto& [pattern, format] : options_.precision.layer_precisions) formats.insert(format);
    loaded_ = load(options_.model, formats, options_.measure, sinks_);
    report_.onnxruntime_version = subject().runtime->version();
    report_.model_file = options_.model.string();
    report_.model_sha256 = loaded_.original.sha256;
    report_.data = loaded_.samples->description();
    report_.samples = loaded_.samples->size();
    report_.random_data = loaded_.samples->is_random();
    for (const std::string& text : loaded_.warnings) warn(text);
    report_.notes = loaded_.notes;
    AssignedFormats assigned = assign_formats(subject().model, subject().layers, options_.precision);
    plan_ = std::move(assigned.plan);
    candidates_ = std::move(assigned.candidates);
    for (const std::string& text : assigned.warnings) warn(text);
    if (candidates_.empty()) {
      throw Error(ErrorKind::Input, fmt::format("{}: no layer can run in the formats asked", options_.model.string()),
                  "list the layers with: vernier inspect model MODEL --show layers");
    }
    report_.reference = prove_prepared(loaded_);
    std::size_t inside = 0;
    for (const Layer& layer : subject().layers) inside += layer.graph.empty() ? 0 : 1;
    if (inside > 0) {
      report_.notes.push_back(
          fmt::format("{} layers inside bodies of If, Loop or Scan are lowered but not measured one "
                      "by one",
                      inside));
    }
  }

  /// Before anything is measured: minutes of work must not end at a folder that cannot be made.
  void make_output_folder() const {
    if (options_.output.empty()) return;
    std::error_code failure;
    std::filesystem::create_directories(options_.output, failure);
    if (failure) throw Error(ErrorKind::Input, fmt::format("{}: {}", options_.output.string(), failure.message()));
  }

  void reference() {
    std::set<std::string> observed = tensors_to_observe(subject());
    observed.merge(tensors_to_calibrate(subject().layers, plan_));
    reference_ = run_reference(subject(), observed);
    for (const auto& [name, stats] : reference_.totals) {
      if (stats.pooled.ref_nonfinite > 0) {
        warn(fmt::format("the float model itself gives {} values that are not finite in output '{}': they are left out",
                         stats.pooled.ref_nonfinite, printable(name)));
      }
    }
  }

  void calibrate() {
    std::map<std::string, RangeStats> ranges = reference_.ranges;
    if (loaded_.calibration) {
      Subject other = subject();
      other.samples = loaded_.calibration.get();
      ranges = run_reference(other, tensors_to_calibrate(subject().layers, plan_)).ranges;
    }
    for (const std::string& text : calibrate_plan(plan_, subject().model, subject().layers, ranges)) warn(text);
  }

  void own_errors() {
    for (LayerError& error : own_error(subject(), plan_, weights_)) own_[error.layer] = std::move(error);
  }

  void all_low() {
    const std::vector<Match> matches = match_layer_outputs(subject());
    const Model low = lower_simulated(subject().model, subject().layers, plan_, weights_);
    lockstep_ = lockstep(subject(), low, matches);
    for (std::size_t i = 0; i < matches.size(); ++i) propagated_[matches[i].ref] = lockstep_.errors[i];
    report_.all_low = figures_of(subject().judged, lockstep_.outputs, requirement());
    if (plan_.high != Format::Float32) {
      const TrialResult high = run_trial(subject(), raised(candidates_), reference_, weights_, requirement(),
                                         all_samples(subject()), /*early_stop=*/false);
      report_.all_high = figures_of(subject().judged, high.outputs, requirement());
    }
    hard_first_ = all_samples(subject());
    if (subject().carries.empty()) {  // a sequence cannot be reordered
      std::stable_sort(hard_first_.begin(), hard_first_.end(), [&](std::size_t a, std::size_t b) {
        return lockstep_.sample_noise[a] > lockstep_.sample_noise[b];
      });
    }
  }

  void effects() {
    std::vector<std::string> single;
    for (const std::string& name : candidates_) {
      if (subject().find_layer(name)->graph.empty()) single.push_back(name);
    }
    if (!subject().carries.empty()) return effects_by_trials(single);
    EffectOptions effect_options;
    effect_options.samples = effect_samples(lockstep_.sample_noise, single.size() > 80 ? 4 : 6);
    const Effects measured = measure_effects(subject(), plan_, single, reference_, weights_, effect_options);
    for (const LayerEffect& effect : measured.layers) effect_[effect.layer] = effect.outputs;
  }

  /// With carried states a suffix would need the state of every sample before: whole runs over a short sequence
  /// instead.
  void effects_by_trials(const std::vector<std::string>& single) {
    std::vector<std::size_t> order = all_samples(subject());
    order.resize(std::min<std::size_t>(order.size(), 64));
    for (const std::string& name : single) {
      std::vector<std::string> others;
      for (const std::string& other : candidates_) {
        if (other != name) others.push_back(other);
      }
      effect_[name] = run_trial(subject(), raised(others), reference_, weights_, nullptr, order, false).outputs;
    }
  }

  double predicted_damage(const std::string& layer) const {
    // What reaches the output decides: a mask of -1e9 becomes -inf in float16, and its Softmax gives the same zeros.
    const auto effect = effect_.find(layer);
    if (effect != effect_.end()) return damage_of_all(effect->second, requirement());
    const auto own = own_.find(layer);
    if (own != own_.end() && !own->second.error.finite()) return std::numeric_limits<double>::infinity();
    // Layers inside bodies have no single effect: a share of what is left, so that they are neither first nor last.
    return 1e-12;
  }

  void rank() {
    report_.layers.clear();
    double sum = 0;
    for (const std::string& name : candidates_) {
      if (const double damage = predicted_damage(name); std::isfinite(damage)) sum += damage;
    }
    for (const Layer& layer : subject().layers) {
      if (layer.follows) continue;
      LayerRow row;
      row.name = layer.name;
      row.op_type = layer.op_type;
      row.graph = layer.graph;
      row.format = plan_.format_of(layer.name);
      row.macs = macs(layer);
      const bool candidate = std::find(candidates_.begin(), candidates_.end(), layer.name) != candidates_.end();
      if (!candidate && row.format == plan_.high) continue;
      fill_errors(layer, row);
      const auto effect = effect_.find(layer.name);
      if (candidate && effect != effect_.end()) {
        row.effect_db = db_of(noise_share(effect->second));
        const double damage = predicted_damage(layer.name);
        if (std::isfinite(damage)) {
          if (sum > 0) row.share = damage / sum;
        }
      }
      report_.layers.push_back(std::move(row));
    }
    std::stable_sort(report_.layers.begin(), report_.layers.end(), [&](const LayerRow& a, const LayerRow& b) {
      return predicted_damage(a.name) > predicted_damage(b.name);
    });
  }

  void fill_errors(const Layer& layer, LayerRow& row) const {
    const auto own = own_.find(layer.name);
    double own_noise = 0;
    if (own != own_.end() && own->second.error.count > 0) {
      row.own_sqnr_db = sqnr_db(own->second.error);
      own_noise = own->second.error.error_energy;
      row.values = own->second.events.count;
      row.overflowed = own->second.events.overflowed;
      row.saturated = own->second.events.saturated;
      row.subnormal = own->second.events.subnormal;
      row.flushed = own->second.events.flushed;
      row.nan = own->second.error.got_nan;
    }
    ErrorStats all;
    for (const std::string& output : layer.outputs) {
      if (const auto found = propagated_.find(output); found != propagated_.end()) all += found->second;
    }
    if (all.count == 0) return;
    row.propagated_sqnr_db = sqnr_db(all);
    if (own != own_.end() && all.finite() && all.ref_energy > 0) {
      row.inherited_sqnr_db = db_of(std::max(0.0, all.error_energy - own_noise) / all.ref_energy);
    }
  }

  std::int64_t macs(const Layer& layer) const {
    if (reference_.shapes.empty()) return 0;  // interrupted before a run was complete
    return multiply_accumulates(subject().model, layer, reference_.shapes);
  }

  /// The plan with `high` raised to the high format.
  Plan raised(const std::vector<std::string>& high) const {
    const std::set<std::string> names(high.begin(), high.end());
    Plan plan = plan_;
    for (PlannedLayer& layer : plan.layers) {
      if (names.contains(layer.name)) {
        const Layer* found = subject().find_layer(layer.name);
        layer.format = can_take(subject().model, *found, plan.high) ? plan.high : Format::Float32;
      }
    }
    return plan;
  }

  std::vector<std::string> names_of(const KeptSet& set) const {
    std::vector<std::string> names;
    for (const std::size_t item : set) names.push_back(candidates_[item]);
    return names;
  }

  Trial judge(const KeptSet& set) {
    Trial trial;
    if (set.empty()) {  // measured already, in lock-step
      trial.damage = *report_.all_low.damage;
      trial.metric = worst_metric(lockstep_.outputs);
    } else if (set.size() == candidates_.size() && plan_.high == Format::Float32 && candidates_are_all()) {
      trial.damage = 0;  // the reference itself
      trial.metric = worst_metric(reference_.totals);
    } else {
      const TrialResult result = run_trial(subject(), raised(names_of(set)), reference_, weights_, requirement(),
                                           hard_first_, /*early_stop=*/true);
      trial.damage = result.damage;
      trial.metric = result.metric;
      trial.stopped_early = result.stopped_early;
    }
    trial.verdict = trial.damage <= 1 ? Verdict::Good : Verdict::Bad;
    return trial;
  }

  bool candidates_are_all() const {
    return std::count_if(plan_.layers.begin(), plan_.layers.end(), [](const PlannedLayer& layer) {
             return layer.format != Format::Float32;
           }) == static_cast<std::ptrdiff_t>(candidates_.size());
  }

  double worst_metric(const std::map<std::string, OutputStats>& stats) const {
    double worst_damage = -1;
    double metric = 0;
    for (const auto& [name, s] : stats) {
      const auto limit = requirement()->limit_for(name);
      if (!limit) continue;
      const double damage = damage_of(requirement()->metric, *limit, s);
      if (damage > worst_damage) {
        worst_damage = damage;
        metric = metric_value(requirement()->metric, s);
      }
    }
    return metric;
  }

  void search() {
    std::vector<SearchItem> items;
    for (const std::string& name : candidates_) items.push_back({predicted_damage(name), 1.0});
    MinimalOptions search_options;
    search_options.max_trials = options_.max_evaluations;
    search_options.stop = [&] { return stopped(); };
    search_options.estimate = [&](const KeptSet& set) {
      try {
        const TrialResult part = run_trial(subject(), raised(names_of(set)), reference_, weights_, nullptr,
                                           estimate_samples(), /*early_stop=*/false);
        return damage_of_all(part.outputs, requirement());
      } catch (const Error& error) {
        if (error.kind() != ErrorKind::Interrupted) throw;
        return std::numeric_limits<double>::infinity();  // the search stops by itself at the next step
      }
    };
    search_options.on_trial = [&](const KeptSet& set, const Trial& trial) {
      ++trials_;
      if (sinks_.info) {
        sinks_.info(fmt::format("evaluation {}: {} kept, {:.2f} {}{}, damage {:.3f}: {}", trials_, set.size(),
                                trial.metric, metric_unit(requirement()->metric),
                                trial.stopped_early ? " or worse" : "", trial.damage,
                                trial.verdict == Verdict::Good ? "good" : "bad"));
      }
      if (sinks_.progress) sinks_.progress("search", trials_, 0);
    };
    // The written file has the last word: what misses in it is searched again with less allowance.
    watch_.phase("search");
    const auto confirm = [&](const MinimalResult& result) {
      say_seconds();
      report_.kept = kept_report(result);
      write_and_verify();
      if (!report_.final_figures) return std::numeric_limits<double>::quiet_NaN();
      if (report_.final_figures->passed != true) watch_.phase("search");
      return *report_.final_figures->damage;
    };
    const ConfirmedResult result = search_confirmed(
        items, [&](const KeptSet& set) { return judge(set); }, confirm, search_options);
    say_seconds();
    report_.kept = kept_report(result.minimal);
    for (LayerRow& row : report_.layers) {
      const std::vector<std::string>& kept = report_.kept->layers;
      row.kept = std::find(kept.begin(), kept.end(), row.name) != kept.end();
    }
  }

  KeptSetReport kept_report(const MinimalResult& result) const {
    KeptSetReport kept;
    kept.layers = names_of(result.kept);
    kept.end = end_text(result.end);
    kept.certified = result.certificate.complete || result.end == SearchEnd::NothingNeeded;
    for (const Certificate::Needed& needed : result.certificate.needed) {
      kept.certificate.push_back(
          {candidates_[needed.item], needed.trial.metric, needed.trial.damage, needed.trial.stopped_early});
    }
    if (result.final_trial.verdict == Verdict::Good) kept.metric = result.final_trial.metric;
    kept.evaluations = result.trials;
    kept.notes = result.notes;
    for (const std::string& name : candidates_) {
      const std::int64_t layer_macs = macs(*subject().find_layer(name));
      kept.total_macs += layer_macs;
      if (std::find(kept.layers.begin(), kept.layers.end(), name) != kept.layers.end()) kept.kept_macs += layer_macs;
    }
    return kept;
  }

  /// The hardest fifth, four at least: they carry most of the noise. A sequence is cut short instead.
  std::vector<std::size_t> estimate_samples() const {
    std::vector<std::size_t> few = hard_first_;
    few.resize(std::min(few.size(), std::max<std::size_t>(4, few.size() / 5)));
    return few;
  }

  static std::string end_text(SearchEnd end) {
    switch (end) {
      case SearchEnd::Certified:
        return "certified";
      case SearchEnd::NothingNeeded:
        return "nothing-needed";
      case SearchEnd::Impossible:
        return "impossible";
      case SearchEnd::Stopped:
        return "stopped";
      case SearchEnd::Unstable:
        return "unstable";
    }
    return "unstable";
  }

  /// Quality against kept layers: predicted from single effects, measured at a few points.
  void curve() {
    std::vector<std::string> ranked;
    for (const LayerRow& row : report_.layers) {
      if (effect_.contains(row.name)) ranked.push_back(row.name);
    }
    std::vector<double> rest(ranked.size() + 1, 0);
    for (std::size_t i = ranked.size(); i-- > 0;) rest[i] = rest[i + 1] + predicted_damage(ranked[i]);
    const double measured_all = noise_share(lockstep_.outputs);
    const double scale =
        std::isfinite(rest[0]) && rest[0] > 0 && std::isfinite(measured_all) ? measured_all / rest[0] : 1;
    for (std::size_t kept = 0; kept <= ranked.size();
         kept = kept < 4 ? kept + 1 : kept + std::max<std::size_t>(1, kept / 3)) {
      CurvePoint point;
      point.kept = kept;
      point.predicted_sqnr_db = db_of(scale * rest[kept]);
      const bool measure = kept == 1 || kept == 2 || kept == 4 || (kept > 4 && report_.curve.size() % 3 == 0);
      if (kept == 0) point.measured_sqnr_db = db_of(measured_all);
      if (measure && report_.curve.size() < 12) {
        const std::vector<std::string> first(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(kept));
        const TrialResult trial =
            run_trial(subject(), raised(first), reference_, weights_, nullptr, hard_first_, false);
        point.measured_sqnr_db = db_of(noise_share(trial.outputs));
      }
      report_.curve.push_back(point);
    }
  }

  Plan final_plan() const { return report_.kept ? raised(report_.kept->layers) : plan_; }

  /// The model that typed lowering edits: prepared, but with its Ifs as the file has them.
  const Model& exported_model() {
    if (!loaded_.inlined_ifs) return subject().model;
    if (exported_.proto.ByteSizeLong() == 0) {
      PrepareOptions prepare_options;
      for (const PlannedLayer& layer : plan_.layers) prepare_options.formats.insert(layer.format);
      prepare_options.min_opset = default_opset(subject().model.proto);
      exported_ = prepare(loaded_.original, prepare_options, evaluator(subject().runtime)).model;
    }
    return exported_;
  }

  void write_and_verify() {
    report_.final_figures.reset();
    step("typed model", [&] { write_typed(); });
    if (!stopped()) step("verify", [&] { verify_typed_model(); });
  }

  void write_typed() {
    TypedModel typed = lower_typed(exported_model(), final_plan(), /*strict=*/false);
    TypedReport info;
    info.casts = typed.casts;
    info.quantize_pairs = typed.quantize_pairs;
    info.weight_bytes = typed.weight_bytes;
    info.original_weight_bytes = weight_bytes(loaded_.original);
    info.notes = typed.notes;
    if (!options_.output.empty()) {
      const std::filesystem::path file = options_.output / "model.onnx";
      write_model(typed.model, file);
      info.file = file.string();
      report_.files["model"] = file.string();
      const std::filesystem::path plan_file = options_.output / "plan.json";
      replace_file(plan_file, plan_to_json(final_plan()));
      report_.files["plan"] = plan_file.string();
    }
    typed_ = std::move(typed.model);
    report_.typed = std::move(info);
  }

  /// The claim. Without a folder to write to, the model that would have been written is measured.
  void verify_typed_model() {
    const bool written = !options_.output.empty();
    // Nothing to claim: all low, or all high, was measured already.
    if (!written && (!report_.kept || report_.kept->end == "impossible")) return;
    VerifyOptions verify_options;
    verify_options.float_model = options_.model;
    verify_options.measure = options_.measure;
    if (written) verify_options.typed_model = report_.files.at("model");
    const JobSinks quiet{sinks_.progress, {}, {}, sinks_.interrupted};
    const VerifyReport verified = written ? verify(verify_options, quiet) : verify_model(typed_, verify_options, quiet);
    report_.final_figures = verified.figures;
  }

  void latency() {
    LatencyReport latency;
    latency.threads = static_cast<int>(subject().threads);
    const bool integer = std::any_of(options_.precision.low.begin(), options_.precision.low.end(),
                                     [](Format format) { return format == Format::Int8 || format == Format::UInt8; });
    const Sample sample = subject().samples->at(0);
    latency.float_ms = median_latency_ms(subject().runtime, loaded_.original, sample, latency.threads);
    if (integer) {
      const TypedModel low = lower_typed(exported_model(), plan_, false);
      latency.low_ms = median_latency_ms(subject().runtime, low.model, sample, latency.threads);
      if (report_.kept) latency.repaired_ms = median_latency_ms(subject().runtime, typed_, sample, latency.threads);
      latency.note =
          options_.precision.target == "tensorrt"
              ? "the tensorrt placement quantizes inputs only, which ONNX Runtime's CPU kernels do not fuse: "
                "there it is slower than float; engines that fuse it are not"
              : "";
    } else {
      latency.note = "ONNX Runtime's CPU kernels compute these formats in float32: their latency there says nothing";
    }
    report_.latency = std::move(latency);
  }

  void write_record() {
    if (options_.output.empty()) return;
    const std::filesystem::path report_file = options_.output / "report.json";
    const std::filesystem::path deploy_file = options_.output / "deploy.md";
    report_.files["report"] = report_file.string();
    if (report_.typed) {
      report_.files["deploy"] = deploy_file.string();
      replace_file(deploy_file, deploy_markdown(report_));
    }
    replace_file(report_file, report_to_json(report_));
  }

  Subject& subject() { return loaded_.subject; }
  const Subject& subject() const { return loaded_.subject; }

  const DiagnoseOptions& options_;
  const JobSinks& sinks_;
  DiagnoseReport report_;
  Stopwatch watch_;
  Loaded loaded_;
  Plan plan_;                            // all low
  std::vector<std::string> candidates_;  // layers a search may raise
  Reference reference_;
  RoundedWeights weights_;
  std::map<std::string, LayerError> own_;
  std::map<std::string, ErrorStats> propagated_;  // by tensor
  Lockstep lockstep_;
  std::map<std::string, std::map<std::string, OutputStats>> effect_;
  std::vector<std::size_t> hard_first_;
  std::size_t trials_ = 0;
  Model typed_;
  Model exported_;
};

}  // namespace

DiagnoseReport diagnose(const DiagnoseOptions& options, const JobSinks& sinks) {
  return Diagnosis(options, sinks).run();
}

}  // namespace vernier
