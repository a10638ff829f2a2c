#include "jobs/diagnose/diagnosis_repairs.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>

#include "jobs/diagnose/repair_network.h"
#include "jobs/search/chosen_objective.h"
#include "vernier/error.h"
#include "vernier/report/causes.h"
#include "vernier/report/kept_set.h"
#include "vernier/report/outcome.h"

namespace vernier {
namespace {

void show_repairs(DiagnoseReport& report, std::vector<RepairTried> tried, const std::vector<Note>& notes) {
  if (!report.explanation) report.explanation.emplace();
  report.explanation->repairs = std::move(tried);
  std::erase_if(report.explanation->proposals, [&](const std::string& proposal) {
    return std::ranges::find(report.explanation->repairs, proposal, &RepairTried::id) !=
           report.explanation->repairs.end();
  });
  report.notes.insert(report.notes.end(), notes.begin(), notes.end());
}

/// Of the samples that are measured; empty: there are none.
LabelCheck labels_of(DiagnosisRun& run, const Loaded& loaded) {
  const auto& wanted = run.options.search.task.labels;
  const bool as_given = std::ranges::all_of(loaded.views, [](const JudgedView& view) { return view.added(); });
  if (!wanted || !as_given) return {};
  const Subject& subject = loaded.subject;
  const auto added = std::ranges::count_if(subject.judged, [&](const std::string& name) {
    return std::ranges::find(loaded.views, name, &JudgedView::output) != loaded.views.end();
  });
  return
      [check = label_check(*wanted, run.sources, *loaded.original),
       whole = subject.judged.size() - static_cast<std::size_t>(added)](std::size_t sample, std::vector<Tensor> got) {
        got.resize(whole);
        return check(sample, got);
      };
}

void forget_repairs(DiagnosisRun& run, const MeasuredNetwork& plain, const AcceptedRepairs& accepted,
                    std::size_t kept_with) {
  DiagnoseReport& report = run.report;
  run.note({{"repairs-taken-back", {{"with", kept_with}, {"without", report.kept->layers.size()}}}});
  take_back(report.explanation->repairs, "undone: without the repairs fewer layers are kept");
  report.repaired.reset();
  std::erase_if(report.notes,
                [&](const Note& note) { return std::ranges::find(accepted.notes, note) != accepted.notes.end(); });
  if (plain.model().typed_source.raised) {
    Plan plan = plain.all_low_plan();
    run.writing([&] { write_float(run.options, plain.loaded(), plain.subject().model, plan, report.files); });
  } else if (const auto file = report.files.find("float"); file != report.files.end()) {
    std::filesystem::remove(file->second);
    report.files.erase(file);
  }
}

/// What everything low does to the samples, against the float model.
void know(KnownTrials::BySample outcomes, const std::optional<KnownPlan>& known) {
  if (!known) return;
  for (auto& [sample, of_sample] : outcomes) known->trials.add(known->plan, sample, std::move(of_sample));
}

/// Local errors and everything low, to the report.
AllLow measure_repaired(DiagnosisRun& run, MeasuredNetwork& network) {
  if (!run.option) measure_own_errors(network);
  AllLow low{measure_all_low(run, network, /*of_layers=*/!run.option)};
  run.report.repaired = low.figures;
  if (network.halves) low.unseen = on_unseen(run, network, network.all_low_plan());
  if (run.option && !nothing_needed(run, low, /*most_damage=*/1)) measure_own_errors(network);  // for the search
  return low;
}

}  // namespace

Repaired repair(DiagnosisRun& run, std::unique_ptr<MeasuredNetwork>& network, const AllLow& low) {
  MeasuredNetwork& plain = *network;
  const CalibratedModel& from = *plain.from;
  const Loaded& loaded = plain.loaded();
  // One way of several only has to get there; fix() is asked for all that helps.
  const bool may_end =
      run.option && run.requirement() != nullptr && !run.options.search.check && !run.options.confirm_on;
  TriedRepairs tried =
      try_repairs(loaded, plain.experiment, plain.model().precision, *run.repairs, from.teacher, from.cached != nullptr,
                  plain.halves.get(), labels_of(run, loaded), may_end ? run.requirement() : nullptr);
  show_repairs(run.report, std::move(tried.tried), tried.notes);
  if (!tried.changed) return {low, nullptr, {}};
  RepairState& state = tried.state;
  NetworkVariant variant{std::make_shared<const Subject>(std::move(state.subject)),
                         std::move(state.plan),
                         std::move(state.candidates),
                         plain.experiment.shapes(),
                         {},
                         std::move(tried.halves)};
  for (const auto& [tensor, shape] : first_shapes(*variant.subject, loaded, *state.reference)) {
    variant.shapes.insert_or_assign(tensor, shape);
  }
  variant.plan.scheme += "; repaired";
  if (tried.rewritten) {
    run.writing([&] { write_float(run.options, loaded, variant.subject->model, variant.plan, run.report.files); });
  }
  plain.measured.keep();
  plain.experiment.forget_switched();
  auto repaired = std::make_unique<MeasuredNetwork>(run, plain.from, std::move(variant));
  if (Experiment& experiment = repaired->experiment; experiment.golden() == nullptr) {
    know(std::move(tried.unseen), experiment.known(experiment.all_low_plan()));
    know(std::move(tried.own), experiment.known_own(experiment.all_low_plan()));
  }
  Repaired result{low, std::exchange(network, std::move(repaired)), {std::move(tried.notes), tried.rewritten}};
  result.low = measure_repaired(run, *network);
  return result;
}

Searched search_without_repairs(DiagnosisRun& run, std::unique_ptr<MeasuredNetwork>& network,
                                std::unique_ptr<MeasuredNetwork> plain, const AcceptedRepairs& accepted,
                                Searched found) {
  DiagnoseReport& report = run.report;
  if (plain == nullptr || report.kept->layers.empty() || run.interrupted() || run.options.search.check) return found;
  if (run.option) return found;  // that is another of the ways
  const KeptSetReport repaired = *report.kept;
  const bool repaired_meets = met(report);
  const auto work_on_the_other = [&] {
    network->measured.keep();
    network->experiment.forget_switched();
    std::swap(network, plain);
    rank(run, *network);
  };
  work_on_the_other();
  Searched without;
  try {
    without = search(run, *network, ".unrepaired");
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Interrupted) throw;
  }
  const bool meets = met(report);
  if (!run.interrupted() && meets && (!repaired_meets || report.kept->cost < repaired.cost)) {
    forget_repairs(run, *network, accepted, repaired.layers.size());
    return without;
  }
  const std::size_t kept_without = report.kept->layers.size();
  work_on_the_other();
  report.kept = repaired;
  mark_kept(report);
  write_typed(run, *network);
  show(found.verified, report);  // it is the same file again
  if (run.interrupted()) {
    run.note({{"without-repairs-unknown", {}}});
  } else if (meets) {
    run.note({{"without-repairs-kept", {{"layers", kept_without}}}});
  } else {
    run.note({{"without-repairs-missed", {}}});
  }
  return found;
}

Verification adopt(DiagnosisRun& run, std::unique_ptr<MeasuredNetwork>& network, DiagnosisAnswer option) {
  DiagnoseReport& report = run.report;
  network->measured.keep();
  NetworkVariant& variant = *option.repaired;
  Subject subject = *variant.subject;
  move_to_job_of(network->loaded().subject, subject);
  variant.subject = std::make_shared<const Subject>(std::move(subject));
  network = std::make_unique<MeasuredNetwork>(run, network->from, std::move(variant));
  if (!run.interrupted()) run_all_low(*network);
  rank(run, *network);
  // One of several ways has no use for them where nothing has to be kept.
  if (network->evidence.own.empty() && !run.interrupted()) {
    run.step("local error", [&] { measure_own_errors(*network); });
    rank(run, *network);
  }
  const bool shows_ranking = !option.report.kept->layers.empty() || run.options.rank;
  if (shows_ranking && run.ranks_layers() && network->evidence.alone.empty() && !run.interrupted()) {
    run.step("sensitivity", [&] {
      if (run.options.rank || network->evidence.presumed.empty()) return measure_sensitivities(run, *network);
      network->sensitivities.measure_kept(option.report.kept->layers);
      note_left_out(run, *network);
    });
    rank(run, *network);
  }
  report.cross_fit = option.report.cross_fit;
  report.all_low = std::move(option.report.all_low);
  report.kept = std::move(option.report.kept);
  report.repaired = std::move(option.report.repaired);
  show_repairs(report, std::move(option.report.explanation->repairs), option.accepted.notes);
  if (option.accepted.rewritten) {
    Plan plan = network->all_low_plan();
    run.writing([&] { write_float(run.options, network->loaded(), network->subject().model, plan, report.files); });
    network->experiment.name_float_model(plan.model_file, plan.model_sha256);
  }
  mark_kept(report);
  Verification verified = write_and_verify(run, *network);
  if (verified.file_test) report.kept->file_test = verified.file_test;
  if (verified.engine_test) report.kept->engine_test = verified.engine_test;
  return verified;
}

}  // namespace vernier
