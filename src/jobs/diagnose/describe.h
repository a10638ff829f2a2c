// What a diagnosis was asked, for the record, before any model is read.
#pragma once

#include "vernier/diagnose.h"
#include "vernier/report/diagnose.h"

namespace vernier {

/// Whether --cost time is the time on the engine that has to agree.
bool times_on_engine(const DiagnoseOptions& options);

/// Fills in what is known from the options alone. Errors: Usage when they contradict each other.
void describe(const DiagnoseOptions& options, DiagnoseReport& report);

}  // namespace vernier
