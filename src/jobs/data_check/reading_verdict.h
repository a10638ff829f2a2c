// Which reading of the inputs fits the network best, and whether that is sure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "vernier/report/check_data.h"

namespace vernier {

/// In nats: a reading whose misfit is not smaller by this much is not surely better.
inline constexpr double kLeastGain = 0.05;

/// By the change of a reading: for each sample, whether its label was right; empty without labels.
using ReadingHits = std::map<std::string, std::vector<bool>>;
struct ReadingKind {
  int steps = 0;          // things that it changes
  bool rescales = false;  // the range is one of them
  bool enlarges = false;  // to a larger one
  double scale = 1;       // values times this, on average
  double shift = 0;       // of the means at the first BatchNormalizations, in deviations; their median
};
/// By the change of a reading.
using ReadingKinds = std::map<std::string, ReadingKind>;

/// Of two readings of the same samples: more are right in the first, by more than so many deviations of chance among
/// those that differ (the sign test).
bool more_right(const std::vector<bool>& a, const std::vector<bool>& b, double deviations);

/// Sorts the readings behind the first, which is the inputs as given, best first, and fills in what is decided: by
/// labels where there are some, else by BatchNormalization statistics, else by confidence.
void judge_readings(CheckDataReport& report, const ReadingHits& hits, const ReadingKinds& kinds);

}  // namespace vernier
