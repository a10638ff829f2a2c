// Reports as a diagnosis would fill them, one for each way it can end.
#pragma once

#include <string>

#include "vernier/report/diagnose.h"
#include "vernier/report/verify.h"

namespace vernier {

DiagnoseReport requirement_met();      // INT8, 3 of 12 layers kept, certified
DiagnoseReport without_requirement();  // FP16, ranked table and curve
DiagnoseReport impossible();
DiagnoseReport nothing_needed();
DiagnoseReport hostile();  // two outputs; names that try to break tables, terminals and shells
VerifyReport verified();

/// The file tests/golden/<name>; written instead when VERNIER_UPDATE_GOLDEN is set.
void expect_golden(const std::string& name, const std::string& text);

}  // namespace vernier
