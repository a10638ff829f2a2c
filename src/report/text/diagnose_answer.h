// The answer of `vernier diagnose` in one sentence, and what to do next. Both texts and deploy.md begin with it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "vernier/report/diagnose.h"

namespace vernier {

/// What to do, in a sentence or two, and the command for it to paste; empty: none.
struct NextStep {
  std::string advice;
  std::string command;
};

struct Answer {
  std::string sentence;
  std::vector<NextStep> steps;

  void first(std::string advice, std::string command = {}) {
    steps.insert(steps.begin(), {std::move(advice), std::move(command)});
  }
  void then(std::string advice, std::string command = {}) { steps.push_back({std::move(advice), std::move(command)}); }
};

Answer answer_of(const DiagnoseReport& report);

}  // namespace vernier
