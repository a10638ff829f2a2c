// The answers of `vernier diagnose` and `vernier fix` to a requirement that is not met.
#pragma once

#include "report/text/diagnose_answer.h"
#include "vernier/report/diagnose.h"
#include "vernier/requirement.h"

namespace vernier {

/// Whether the figure meets its limit, and only what it exceeds on new samples does not.
bool misses_on_new_samples_alone(const RunFigures& run, const Requirement& requirement);
/// The first layer of the certificate without which these samples meet the limit, and new ones may not. Null: none.
const CertificateRow* needed_for_new_samples_alone(const KeptSetReport& kept, const Requirement& requirement);

/// No choice of layers meets the requirement.
Answer impossible(const DiagnoseReport& report);

/// The search passed, and the written model does not.
Answer file_misses(const DiagnoseReport& report);

/// Where nothing is left in a low format that has a scale: how to train the network for it.
void say_how_to_train(const DiagnoseReport& report, Answer& answer);

/// ONNX Runtime, the target, does not run the file.
Answer refused_by_runtime(const DiagnoseReport& report);

}  // namespace vernier
