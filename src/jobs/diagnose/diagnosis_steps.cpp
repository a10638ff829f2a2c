#include "jobs/diagnose/diagnosis_steps.h"

#include <algorithm>
#include <cstddef>

namespace vernier {

void DiagnosisSteps::expect(const std::string& name, double passes) {
  for (std::size_t i = next_; i < steps_.size(); ++i) {
    if (steps_[i].name == name) steps_[i].passes = passes;
  }
}

void DiagnosisSteps::begin(const std::string& name) {
  const auto found = std::find_if(steps_.begin() + static_cast<std::ptrdiff_t>(next_), steps_.end(),
                                  [&](const Step& step) { return step.name == name; });
  if (found == steps_.end()) return;
  const Clock::time_point now = now_();
  if (next_ > 0) steps_[next_ - 1].seconds = std::chrono::duration<double>(now - begun_).count();
  begun_ = now;
  next_ = static_cast<std::size_t>(found - steps_.begin()) + 1;
  if (!sinks_.step) return;
  double behind = 0, ahead = 0;
  for (const Step& step : steps_) behind += step.seconds.value_or(0);
  for (auto step = found; step != steps_.end(); ++step) ahead += step->passes;
  const double unit = seconds_a_pass();
  const double all = behind + ahead * unit;
  sinks_.step({name, next_, steps_.size(), behind / all, found->passes * unit / all});
}

double DiagnosisSteps::seconds_a_pass() const {
  double seconds = 0, passes = 0;
  for (std::size_t i = 1; i < steps_.size(); ++i) {
    if (!steps_[i].seconds) continue;
    seconds += *steps_[i].seconds;
    passes += steps_[i].passes;
  }
  if (seconds > 0 && passes > 0) return seconds / passes;
  const bool read = !steps_.empty() && steps_.front().seconds && *steps_.front().seconds > 0;
  return read ? *steps_.front().seconds / steps_.front().passes : 1;
}

}  // namespace vernier
