// What every step of a diagnosis is handed: what was asked for, where its samples and records are, and the report.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "base/text.h"
#include "jobs/common/sources.h"
#include "jobs/common/stopwatch.h"
#include "jobs/diagnose/diagnosis_steps.h"
#include "jobs/search/evidence.h"
#include "jobs/search/measured.h"
#include "vernier/diagnose.h"
#include "vernier/error.h"
#include "vernier/fix.h"
#include "vernier/note.h"
#include "vernier/report/diagnose.h"
#include "vernier/requirement.h"
#include "vernier/sinks.h"

namespace vernier {

struct CalibratedModel;

/// What one of several ways takes from the diagnosis that compares them. The references must outlive it.
struct AsOption {
  const Evidence& found_first;                              // of the network as it was asked for
  const DiagnoseReport& report_first;                       // of that network
  std::optional<double> cost_to_beat;                       // with repairs: what is kept without, if that meets
  std::shared_ptr<const CalibratedModel> calibrated_first;  // with repairs: that network; null: it is another one
  const Sources& sources;                                   // whose samples it has
  std::shared_ptr<MeasurementStore> store;
};

class DiagnosisRun {
 public:
  /// `may_repair` null: no repair is tried. All but `as_option` must outlive it.
  DiagnosisRun(const DiagnoseOptions& asked, const JobSinks& to, bool explain, const RepairOptions* may_repair,
               std::optional<AsOption> as_option = std::nullopt);

  const Requirement* requirement() const {
    return options.measure.requirement ? &*options.measure.requirement : nullptr;
  }
  bool interrupted() const { return sinks.is_interrupted(); }
  /// Whether something decides: a requirement, an outside check, or an objective.
  bool searches() const;
  /// A list that is walked needs no sensitivities of single layers.
  bool ranks_layers() const;
  /// Whether an engine other than ONNX Runtime has to agree.
  bool confirms_on_engine() const { return options.confirm_on && *options.confirm_on != MeasureOn::OnnxRuntime; }
  bool draws() const { return options.pictures || !options.output.empty(); }
  /// Of an option only what its row says: its times mean something where its target runs.
  bool times_models() const;

  /// What `body` gives, as a step that is told and timed.
  template <class Body>
  auto step(const std::string& name, const Body& body) {
    steps.begin(name);
    watch.phase(name);
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      say_seconds();
    } else {
      auto result = body();
      say_seconds();
      return result;
    }
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
      if (!ours || refused_file) throw;
      failed_phase(phase, error.what());
    } catch (const std::runtime_error& failure) {
      failed_phase(phase, printable_text(failure.what()));
    }
  }

  template <class Body>
  void optional_step(const std::string& name, const Body& body) {
    optionally(name, [&] { step(name, body); });
  }

  /// Where a disk takes no file the job ends, and gives what it has measured.
  template <class Body>
  auto writing(const Body& body) {
    try {
      return body();
    } catch (const Error& error) {
      refused_file = error.kind() == ErrorKind::Input;
      throw;
    }
  }

  /// Ends the phase that runs, if any.
  void say_seconds();
  void warn(const Note& note);
  void note(const std::vector<Note>& notes) { report.notes.insert(report.notes.end(), notes.begin(), notes.end()); }
  void note_once(const Note& one);

  const DiagnoseOptions& options;
  const JobSinks& sinks;
  const bool explains;
  const RepairOptions* const repairs;
  const std::optional<AsOption> option;
  DiagnoseReport report;
  Stopwatch watch;
  DiagnosisSteps steps;
  Sources sources;
  const std::shared_ptr<MeasurementStore> store;  // null: nothing is kept
  RecordUse records;
  double sensitivity_inferences = 0;  // of the whole network, that sensitivities of single layers took
  bool refused_file = false;          // an output could not be written

 private:
  void failed_phase(const std::string& phase, const std::string& reason);
  void plan_steps();
};

}  // namespace vernier
