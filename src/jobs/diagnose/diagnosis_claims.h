// What a diagnosis claims of samples that taught nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "jobs/diagnose/diagnosis_run.h"
#include "jobs/diagnose/measured_network.h"
#include "jobs/diagnose/written_model.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/kept_set.h"

namespace vernier {

/// Everything low, judged by the halves of `network`, which has some; `figures` are of the samples that taught it.
AllLow all_low_on_unseen(const DiagnosisRun& run, MeasuredNetwork& network, RunFigures figures);
/// The figures of a network that keeps what `plan` says, on samples that have not taught it.
RunFigures on_unseen(const DiagnosisRun& run, MeasuredNetwork& network, const Plan& plan);
/// The same judged by labels.
void judge_unseen(MeasuredNetwork& network, TestRow& test, const KeptSetReport& kept);
/// What was measured of the file becomes what stands beside the claim, which is of samples that have not taught it.
void claim_unseen(const DiagnosisRun& run, MeasuredNetwork& network, Verification& verified);
/// All figures that stand beside the written file's are of the same samples.
void compare_on_unseen(DiagnoseReport& report, const AllLow& low, const AllLow& worked_on);
/// Where top-1 agreement is lower than with everything low, whose rows moved as `moved_low`: the samples that lost it.
void compare_classes(DiagnosisRun& run, MeasuredNetwork& network, const std::vector<std::int64_t>& moved_low);
/// Adds to the figures that answer what is in front of Softmaxes where a few samples hold the error.
void look_in_front_of_softmaxes(DiagnosisRun& run, MeasuredNetwork& network);

}  // namespace vernier
