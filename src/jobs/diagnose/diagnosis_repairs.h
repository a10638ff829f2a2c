// A diagnosis with repairs: the network that they make, and whether it is the better one to keep layers in.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "jobs/diagnose/diagnosis_run.h"
#include "jobs/diagnose/diagnosis_search.h"
#include "jobs/diagnose/measured_network.h"
#include "jobs/diagnose/written_model.h"
#include "vernier/note.h"
#include "vernier/report/diagnose.h"

namespace vernier {

/// What was said of the repairs that were accepted.
struct AcceptedRepairs {
  std::vector<Note> notes;
  bool rewritten = false;  // the float model is another, equal one
};

struct Repaired {
  AllLow low;                              // of the network that is worked on
  std::unique_ptr<MeasuredNetwork> plain;  // the one without repairs; null: they changed nothing
  AcceptedRepairs accepted;
};

struct DiagnosisAnswer {
  DiagnoseReport report;
  std::optional<NetworkVariant> repaired;  // of an option: its network, where repairs changed it
  AcceptedRepairs accepted;
};

/// Tries the repairs. Where some stay, the repaired network takes the place of `network`, in which layers are kept from
/// here on; it is judged against the float model as ever. `low`: everything low, without repairs.
Repaired repair(DiagnosisRun& run, std::unique_ptr<MeasuredNetwork>& network, const AllLow& low);

/// A repair that takes most of a layer's error away can cost the output another layer. Where layers have to be kept in
/// spite of the repairs, `plain` is searched too, and the answer is the one that keeps less: its network is then the
/// one in `network`. `found`: in the repaired network, which is there first. Without `plain` there is nothing to do.
Searched search_without_repairs(DiagnosisRun& run, std::unique_ptr<MeasuredNetwork>& network,
                                std::unique_ptr<MeasuredNetwork> plain, const AcceptedRepairs& accepted,
                                Searched found);

/// Answers with the repaired network of an option, which takes the place of `network`, and writes that one.
Verification adopt(DiagnosisRun& run, std::unique_ptr<MeasuredNetwork>& network, DiagnosisAnswer option);

}  // namespace vernier
