// The answer of `vernier diagnose` in one sentence, and what to do next. Both texts and deploy.md begin with it.
#pragma once

#include <string>
#include <vector>

#include "vernier/report/diagnose.h"
#include "vernier/report/kept_set.h"

namespace vernier {

struct Answer {
  std::string sentence;
  std::vector<std::string> advice;    // what to do, one sentence each
  std::vector<std::string> commands;  // to paste
};

/// "3 of 20 layers in uint16 and 1 in float16 (12 % of the multiply-accumulates)", of a ladder.
std::string raised_text(const KeptSetReport& kept);

Answer answer_of(const DiagnoseReport& report);

}  // namespace vernier
