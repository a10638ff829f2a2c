// The answer of `vernier diagnose` in one sentence, and what to do next. Both texts and deploy.md begin with it.
#pragma once

#include <string>
#include <vector>

#include "vernier/report/diagnose.h"

namespace vernier {

struct Answer {
  std::string sentence;
  std::vector<std::string> advice;    // what to do, one sentence each
  std::vector<std::string> commands;  // to paste
};

Answer answer_of(const DiagnoseReport& report);

}  // namespace vernier
