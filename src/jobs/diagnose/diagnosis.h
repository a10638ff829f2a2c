// A diagnosis while it runs: what its steps share. run() reads as the flow: each step one call, each timed.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/subject.h"
#include "base/text.h"
#include "causes/facts.h"
#include "jobs/common/load.h"
#include "jobs/common/sources.h"
#include "jobs/common/stopwatch.h"
#include "jobs/diagnose/alternatives.h"
#include "jobs/diagnose/cross_fit.h"
#include "jobs/diagnose/diagnosis_ranges.h"
#include "jobs/diagnose/diagnosis_steps.h"
#include "jobs/diagnose/network_nodes.h"
#include "jobs/diagnose/network_variant.h"
#include "jobs/diagnose/single_sensitivities.h"
#include "jobs/diagnose/teach.h"
#include "jobs/diagnose/typed_result.h"
#include "jobs/diagnose/typed_source.h"
#include "jobs/engine/compiler.h"
#include "jobs/search/costs.h"
#include "jobs/search/evidence.h"
#include "jobs/search/experiment.h"
#include "jobs/search/kept_set.h"
#include "jobs/search/objective.h"
#include "plan/plan.h"
#include "vernier/diagnose.h"
#include "vernier/error.h"
#include "vernier/fix.h"
#include "vernier/note.h"
#include "vernier/precision.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"
#include "vernier/requirement.h"
#include "vernier/search_options.h"
#include "vernier/sinks.h"

namespace vernier {

/// What is known of the typed model that stands in the report.
struct Verification {
  std::optional<RunFigures> figures;
  std::optional<RunFigures> in_sample;
  std::optional<OtherSums> other_sums;
  std::optional<SaturatedPairs> saturated_pairs;
  std::optional<NotSimulated> not_simulated;
  std::optional<EngineFigures> engine;
  std::vector<Note> doubts;
};

/// What a diagnosis with repairs found, for one without to answer with.
struct RepairedAnswer {
  NetworkVariant network;
  DiagnoseReport report;
  std::vector<Note> notes;  // of the repairs
  bool rewritten = false;   // the float model is another, equal one
};

class Diagnosis {
 public:
  /// `repairs` null: none is tried.
  Diagnosis(const DiagnoseOptions& options, const JobSinks& sinks, bool explains, const RepairOptions* repairs);
  /// One of several ways that are compared: it has the samples of `other`, and measures what a row of them says.
  Diagnosis(const DiagnoseOptions& options, const JobSinks& sinks, const RepairOptions* repairs,
            const Diagnosis& other);

  DiagnoseReport run();

 private:
  const Requirement* requirement() const {
    return options_.measure.requirement ? &*options_.measure.requirement : nullptr;
  }

  /// A list that is walked needs no sensitivities of single layers.
  bool ranks_layers() const { return !searches() || options_.search.mode == SearchMode::Minimal; }
  bool searches() const { return requirement() != nullptr || objective_ != nullptr || options_.search.check; }
  bool draws() const { return options_.pictures || !options_.output.empty(); }

  template <class Body>
  void step(const std::string& name, const Body& body) {
    steps_.begin(name);
    watch_.phase(name);
    body();
    say_seconds();
  }

  /// What the answer does not need: where it fails, the answer stands, and a warning names the phase and the reason.
  /// Interruptions and files that cannot be written end the job as ever.
  template <class Body>
  void optionally(const std::string& phase, const Body& body) {
    try {
      body();
    } catch (const Error& error) {
      // What a function of the caller's does wrong is for the caller to hear.
      const bool ours = error.kind() == ErrorKind::Backend || error.kind() == ErrorKind::Internal;
      if (!ours || refused_file_) throw;
      failed_phase(phase, error.what());
    } catch (const std::runtime_error& failure) {
      failed_phase(phase, printable_text(failure.what()));
    }
  }

  template <class Body>
  void optional_step(const std::string& name, const Body& body) {
    optionally(name, [&] { step(name, body); });
  }

  void failed_phase(const std::string& phase, const std::string& reason) {
    say_seconds();
    warn({"phase-failed", {{"phase", phase}, {"error", reason}}});
  }

  /// Where a disk takes no file the job ends, and gives what it has measured.
  template <class Body>
  void writing(const Body& body) {
    try {
      body();
    } catch (const Error& error) {
      refused_file_ = error.kind() == ErrorKind::Input;
      throw;
    }
  }
  void write_answer_first();
  /// Without any the network, and the answer, is the one that is there.
  bool repairs_lead_nowhere() const { return cost_to_beat_ && !report_.repaired && !sinks_.is_interrupted(); }
  /// Of an option whose answer would be no cheaper than the one that is there.
  DiagnoseReport ended_early();
  DiagnosisInterrupted ended_by(const Error& error);
  void say_interrupted();

  /// Whether samples teach the network something, and halves of them can judge it.
  bool cross_fits() const;
  /// Lets a search judge by the halves, where there are some. Once more whenever the experiment goes on with another
  /// network.
  void judge_on_unseen();
  /// The figures of a network that keeps what `plan` says, on samples that have not taught it.
  RunFigures on_unseen(const Plan& plan);
  RunFigures unseen_figures(const std::map<std::string, OutputStats>& outputs);
  /// Everything low, without repairs: what others are compared with.
  void all_low_on_unseen();
  /// The same judged by labels.
  void judge_unseen(TestRow& test, const KeptSetReport& kept);

  /// Everything low meets the requirement, by default not by a hair, which the written file may miss: nothing has to be
  /// repaired, kept or ranked.
  bool nothing_needed(double most_damage = 0.9) const {
    const auto meets = [&](const RunFigures& run) {
      return run.passed == true && run.damage.value_or(1) <= most_damage;
    };
    return requirement() != nullptr && objective_ == nullptr && !options_.search.check && !options_.confirm_on &&
           meets(report_.repaired ? *report_.repaired : report_.all_low) &&
           (report_.repaired ? !unseen_repaired_ || meets(*unseen_repaired_) : !unseen_low_ || meets(*unseen_low_));
  }

  /// Of an option only what its row says: its times mean something where its target runs.
  bool times_models() const {
    const bool on_engine = options_.confirm_on && *options_.confirm_on != MeasureOn::OnnxRuntime;
    const bool where_it_runs = on_engine || options_.precision.target == Target::OnnxRuntime;
    if (options_.quick || (is_option_ && !where_it_runs)) return false;
    return options_.latency.value_or(options_.confirm_on.has_value() || where_it_runs);
  }

  /// Ends the phase that runs, if any.
  void say_seconds() {
    if (!watch_.stop() || !sinks_.info) return;
    sinks_.info(fmt::format("{}: {:.2f} s", report_.phases.back().phase, report_.phases.back().seconds));
  }

  void warn(const Note& note) {
    report_.warnings.push_back(note);
    sinks_.warn(note);
  }
  void note(const std::vector<Note>& notes) { report_.notes.insert(report_.notes.end(), notes.begin(), notes.end()); }

  void note_once(const Note& one) {
    if (std::ranges::find(report_.notes, one) == report_.notes.end()) report_.notes.push_back(one);
  }

  void plan_steps();
  void expect_steps();
  void load_model();
  void note_of_records();
  void refuse_wrong_journal() const;
  std::optional<Note> warning_of_inputs();
  void reference();
  void calibrate();
  void own_errors();
  void sensitivities();
  void note_left_out();
  void run_all_low(const std::vector<Match>& matches);
  /// `of_layers`: with the errors of all layers, not of the outputs alone.
  RunFigures all_low(bool of_layers = true);
  /// Of the quantized file whose ranges are taken over, as it is.
  RunFigures given_file();

  /// Of the network as it is: before it is repaired, or once the layers to keep are known.
  void causes();
  std::vector<LostLimitFacts> lost_limits();

  /// From here on the repaired network is the one that layers are kept in; it is judged against the float model as
  /// ever.
  void repair();
  void show_repairs(std::vector<RepairTried> tried, std::vector<Note> notes);

  /// All figures that stand beside the written file's are of the same samples.
  void compare_on_unseen();
  /// Where top-1 agreement is lower than with everything low: the samples that lost it.
  void compare_classes();

  /// A repair that takes most of a layer's error away can cost the output another layer. Where layers have to be kept
  /// in spite of the repairs, the network as it was is searched too, and the answer is the one that keeps less.
  void search_without_repairs();

  /// Between the repaired network and the one without repairs.
  void change_network() {
    measured_->keep();
    exchange(*other_, subject(), *experiment_, evidence_, halves_);
    judge_on_unseen();
    measured_->begin(report_.data_sha256);
    if (!sinks_.is_interrupted()) run_all_low(match_layer_outputs(subject()));
    rank();
  }
  void forget_repairs(const KeptSetReport& repaired);
  void rank() {
    if (experiment_ && report_.network.empty()) {
      report_.network = network_nodes(subject().model, subject().layers, experiment_->reference.shapes);
    }
    if (!experiment_) return;
    report_.layers = ranked_rows(*experiment_, evidence_);
    report_.work = lowered_work(*experiment_);
  }

  /// What runs the trials of a search that no outside check decides.
  enum class TrialsOn : std::uint8_t {
    Simulation,
    Runtime,  // ONNX Runtime with its default optimizations, beside the simulation, which the answer meets as well
    Engine,   // the engine alone
  };
  /// The written file has the last word: what misses in it is searched again with less allowance, and where simulated
  /// trials lead nowhere, with trials that run elsewhere, on what is left of the limits. `journal_suffix`: of a search
  /// that has a journal of its own.
  void search(const std::string& journal_suffix = "");
  KeptSetReport search_once(const SearchOptions& limits, const LayerTimes* times);
  /// The engine's errors may depend on which layers are low, not on how far: then a search in the simulation with less
  /// allowance keeps all of them. With trials on the engine, it does not. `trials_on_`: they run where they should.
  TrialsOn where_trials_tell_more(const KeptSetReport& kept) const;
  bool runtime_misses() const;
  struct Confirmed {
    double damage = std::numeric_limits<double>::quiet_NaN();  // by what decides
    double simulated = damage;
  };
  /// Of what was found, once it is a written file. NaN: there is nothing to confirm.
  Confirmed confirm(const KeptSetReport& found);
  std::optional<LayerTimes> times_of_layers();

  void mark_kept() {
    const std::set<std::string> kept(report_.kept->layers.begin(), report_.kept->layers.end());
    for (LayerRow& row : report_.layers) row.kept = kept.contains(row.name);
  }
  void curve() { report_.curve = quality_curve(*experiment_, evidence_, report_.layers); }
  Plan final_plan() const { return report_.kept ? experiment_->plan_of(*report_.kept) : all_low_plan(); }
  void write_typed();
  void write_and_verify();
  /// What was measured of the file becomes what stands beside the claim, which is of samples that have not taught it.
  void claim_unseen();
  /// Adds to the figures that answer what is in front of Softmaxes where a few samples hold the error.
  void look_in_front_of_softmaxes();
  Verification verification() const;
  void take(const Verification& verified);

  /// For TensorRT, which is measured to sum otherwise than simulations assume.
  bool sums_may_differ() const;
  OtherSums all_low_with_other_sums();
  /// Says what products of uint8 and int8 come to on CPUs that add them in 16 bits.
  void saturation();

  void try_on_onnxruntime();
  std::optional<Note> what_onnxruntime_loses();
  void latency();
  void compile();
  void alternatives();
  /// Once it has run; its network is given away.
  RepairedAnswer repaired_answer();
  /// Answers with the repaired network from here on, and writes that one.
  void adopt(RepairedAnswer repaired);
  void pictures();
  void picture_samples();

  Subject& subject() { return loaded_.subject; }
  const Subject& subject() const { return loaded_.subject; }
  const Plan& all_low_plan() const { return experiment_->all_low_plan(); }

  const DiagnoseOptions& options_;
  TrialsOn trials_on_ = options_.trials_on_engine ? TrialsOn::Engine : TrialsOn::Simulation;
  const bool explains_;
  const RepairOptions* const repairs_;
  const bool is_option_ = false;
  const Evidence* const found_first_ = nullptr;   // of an option: that of the network as it was asked for
  const std::optional<double> cost_to_beat_;      // of an option that repairs: what is kept without, if that meets
  bool no_cheaper_ = false;                       // it cannot be beaten: the option ends
  const RunFigures* const proven_ = nullptr;      // of an option that is prepared as that was: RunFigures of it
  const std::shared_ptr<CrossFit> taught_first_;  // of an option that repairs: the halves of the network as it is
  const JobSinks& sinks_;
  DiagnoseReport report_;
  Stopwatch watch_;
  DiagnosisSteps steps_{sinks_};
  PrecisionOptions precision_;  // with what network scripts set
  Sources sources_;
  TypedSource typed_source_;
  Loaded loaded_;
  std::optional<Experiment> experiment_;   // from load_model() on
  std::optional<DiagnosisRanges> ranges_;  // from load_model() on
  Evidence evidence_;
  std::shared_ptr<MeasurementStore> store_;  // null: nothing is kept
  std::optional<Measured> measured_;         // from load_model() on
  std::optional<SingleSensitivities> sensitivities_;
  std::optional<Teacher> teacher_;                          // from calibrate() on
  std::shared_ptr<CrossFit> halves_;                        // null: all samples taught and judge
  std::optional<NetworkVariant> other_;                     // the network without repairs, where they changed it
  bool refused_file_ = false;                               // an output could not be written
  std::optional<RunFigures> unseen_low_, unseen_repaired_;  // everything low, judged by the halves
  std::vector<std::int64_t> moved_low_;                     // rows_moved() of everything low, without repairs
  std::vector<Note> repair_notes_;                          // what was said of the repairs that were accepted
  bool rewritten_ = false;                                  // by these repairs
  std::optional<RepairedAnswer> better_;                    // an option that is the answer
  std::vector<Note> doubts_;                                // of the last verification
  std::optional<TestRow> file_test_, engine_test_;          // of the last verification, where an objective decides
  std::unique_ptr<Objective> objective_;                    // null: the requirement decides, if there is one
  std::optional<TypedResult> typed_;                        // from load_model() on
  std::optional<Compiler> compiler_;                        // with --compile, on the first rank
};

}  // namespace vernier
