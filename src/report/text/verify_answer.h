// The answer of `vernier verify` in one sentence, what engines make of the file, and what to do next: text and page
// begin with it.
#pragma once

#include <string>

#include "report/text/diagnose_answer.h"
#include "vernier/report/verify.h"

namespace vernier {

Answer answer_of(const VerifyReport& report);

/// The requirement is met, and nothing speaks against it: no other sums miss it, and no layer overflows inside.
bool plainly_met(const VerifyReport& report);

/// "can fuse all 7 pairs", "5 places it cannot fuse; the first: ..."
std::string placement_text(const EnginePlacement& row);
/// How what the rows of placement say is known.
std::string placement_evidence(const VerifyReport& report);

}  // namespace vernier
