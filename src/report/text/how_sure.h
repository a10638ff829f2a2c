// How sure the figure of an answer is.
#pragma once

#include "report/text/diagnose_answer.h"
#include "vernier/report/diagnose.h"

namespace vernier {

/// What is measured on samples that also taught the ranges says nothing of new ones.
bool calibrated_on_same_samples(const DiagnoseReport& report);

/// With a confidence to meet (Requirement::confidence): what holds on new samples, and how many samples would decide a
/// limit that these do not. Else the interval of 95 %. `run` is one of `report`'s own.
void say_how_sure(const DiagnoseReport& report, const RunFigures& run, Answer& answer);

}  // namespace vernier
