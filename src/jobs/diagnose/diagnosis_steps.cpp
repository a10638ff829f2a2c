#include "jobs/diagnose/diagnosis_steps.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace vernier {

void DiagnosisSteps::begin(const std::string& name) {
  const auto found = std::find_if(steps_.begin() + static_cast<std::ptrdiff_t>(next_), steps_.end(),
                                  [&](const Step& step) { return step.name == name; });
  if (found == steps_.end()) return;
  next_ = static_cast<std::size_t>(found - steps_.begin()) + 1;
  if (!sinks_.step) return;
  const auto sum = [](auto first, auto last) {
    return std::accumulate(first, last, 0.0, [](double all, const Step& step) { return all + step.seconds; });
  };
  const double all = sum(steps_.begin(), steps_.end());
  sinks_.step({name, next_, steps_.size(), sum(steps_.begin(), found) / all, found->seconds / all});
}

}  // namespace vernier
