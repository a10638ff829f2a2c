#include "jobs/data_check/reading_verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace vernier {
namespace {

constexpr double kFewRight = 0.5;  // of a network that was trained more of the labels are right
// A misfit of half a nat a channel is a mean off by one deviation: what training never saw. Data like that of training
// stays far below.
constexpr double kMisfit = 0.5;
constexpr double kDoubtful = 0.25;  // of networks with their own inputs 0.2 was seen at most, on lines of text
// Readings nearer to each other than this are equally good: the samples are few.
constexpr double kSameMisfit = 1.1, kSameConfidence = 0.02;
// Nats: of two readings that are both as near to training as this, neither is better.
constexpr double kNoMisfit = 0.01;
// Of the misfit as given. Another range than training's leaves a quarter or less.
constexpr double kMuchBetter = 0.6, kMuchBetterRange = 0.4;
// Pictures with less detail than those of training, enlarged ones for example, make edges as much weaker as a smaller
// range does: such a factor is told from it by the means that come nearer to training's, in deviations, or by a fit
// that leaves nothing.
constexpr double kAsDetail = 8, kNearer = 0.1;
// A network that was trained is surer than this of inputs like those of training, on average.
constexpr double kUnsure = 0.5, kMuchSurer = 0.25;
const char* const kSwapped = "red and blue swapped";

/// What one kind of evidence says of a reading against the inputs as given.
struct Evidence {
  std::string by;
  std::function<double(const InputReading&)> score;        // larger is better
  std::function<bool(const InputReading&)> surely, maybe;  // better than as given
  std::function<bool(const InputReading& best, const InputReading&)> as_good;
  /// Another range that fits better may be pictures with less detail; never true of readings without a range.
  std::function<bool(const InputReading& better, const InputReading&)> confused;
  std::function<std::string(const InputReading&)> figures;
  std::string would_decide;
};

Evidence by_labels(const InputReading& given, const ReadingHits& hits) {
  return {"labels",
          [](const InputReading& r) { return *r.accuracy; },
          [&hits](const InputReading& r) { return more_right(hits.at(r.change), hits.at(""), 2); },
          [&hits](const InputReading& r) { return more_right(hits.at(r.change), hits.at(""), 1); },
          [&hits](const InputReading& best, const InputReading& r) {
            return !more_right(hits.at(best.change), hits.at(r.change), 1);
          },
          [](const InputReading&, const InputReading&) { return false; },
          [given](const InputReading& r) {
            return fmt::format("{:.1f} % right, {:.1f} % as given", 100 * *r.accuracy, 100 * *given.accuracy);
          },
          "More samples with labels would decide."};
}

Evidence by_statistics(const InputReading& given, const ReadingKinds& kinds) {
  const auto confused = [&kinds](const InputReading& better, const InputReading& other) {
    const ReadingKind &one = kinds.at(better.change), &two = kinds.at(other.change);
    if (one.scale == two.scale || *better.misfit <= kLeastGain) return false;
    const double factor = std::max(one.scale / two.scale, two.scale / one.scale);
    return factor <= kAsDetail && two.shift - one.shift < kNearer;
  };
  return {"BatchNormalization statistics",
          [](const InputReading& r) { return -*r.misfit; },
          [given, &kinds, confused](const InputReading& r) {
            const double share = kinds.at(r.change).rescales ? kMuchBetterRange : kMuchBetter;
            return *r.misfit < std::min(kMisfit, share * *given.misfit) && *given.misfit - *r.misfit > kLeastGain &&
                   !confused(r, given);
          },
          [given](const InputReading& r) {
            return kSameMisfit * *r.misfit<*given.misfit&& * given.misfit - *r.misfit> kNoMisfit;
          },
          [](const InputReading& best, const InputReading& r) {
            return *r.misfit <= std::max(kSameMisfit * *best.misfit, *best.misfit + kLeastGain);
          },
          confused,
          [given](const InputReading& r) {
            return fmt::format("the first BatchNormalizations are then {:.3g} nats from training, {:.3g} as given",
                               *r.misfit, *given.misfit);
          },
          given.confidence ? "Labels (‹labels›) would decide, more samples may."
                           : "The image preparation of training would decide, more samples may."};
}

/// Larger values make any network surer: a reading that enlarges them is never surely better, and may be where the
/// network is unsure of the inputs as given. It stands behind the others.
Evidence by_confidence(const InputReading& given, const ReadingKinds& kinds) {
  const auto enlarges = [&kinds](const InputReading& r) { return kinds.at(r.change).enlarges; };
  const auto may_be_enlarged = [given](const InputReading& r) {
    return *given.confidence < kUnsure && r.confidence.value_or(0) > *given.confidence + kMuchSurer;
  };
  return {"confidence",
          [enlarges, may_be_enlarged](const InputReading& r) {
            return r.confidence.value_or(0) - (enlarges(r) && !may_be_enlarged(r) ? 1 : 0);
          },
          [given, enlarges](const InputReading& r) {
            return !enlarges(r) && r.confidence.value_or(0) > *given.confidence + 0.15;
          },
          [given, enlarges, may_be_enlarged](const InputReading& r) {
            return enlarges(r) ? may_be_enlarged(r) : r.confidence.value_or(0) > *given.confidence + kSameConfidence;
          },
          [](const InputReading& best, const InputReading& r) {
            return r.confidence.value_or(0) >= best.confidence.value_or(0) - kSameConfidence;
          },
          [](const InputReading&, const InputReading&) { return false; },
          [given](const InputReading& r) {
            return fmt::format("the average confidence of the network is then {:.1f} %, {:.1f} % as given",
                               100 * r.confidence.value_or(0), 100 * *given.confidence);
          },
          "Labels (‹labels›) would decide, more samples may."};
}

/// Sorts the readings behind the first, best first. Of those as good as the best within noise, the one that changes
/// least; null where there are none.
const InputReading* choose(const Evidence& judge, const ReadingKinds& kinds, std::vector<InputReading>& all) {
  std::stable_sort(all.begin() + 1, all.end(),
                   [&](const InputReading& a, const InputReading& b) { return judge.score(a) > judge.score(b); });
  if (all.size() < 2) return nullptr;
  const InputReading* chosen = &all[1];
  for (const InputReading& reading : all) {
    const bool stands_in = !reading.change.empty() && judge.as_good(all[1], reading) &&
                           judge.surely(reading) == judge.surely(all[1]) && judge.maybe(reading) == judge.maybe(all[1]);
    if (stands_in && kinds.at(reading.change).steps < kinds.at(chosen->change).steps) chosen = &reading;
  }
  return chosen;
}

/// Readings as good as `best` within noise that change as much, and those that it cannot be told from.
std::vector<std::string> equally_good(const Evidence& judge, const ReadingKinds& kinds,
                                      const std::vector<InputReading>& all, const InputReading& best) {
  std::vector<std::string> found;
  for (const InputReading& reading : all) {
    if (reading.change.empty() || reading.change == best.change) continue;
    const bool instead = best.misfit.value_or(0) > kDoubtful && judge.confused(best, reading) &&
                         !judge.confused(reading, all.front()) && judge.maybe(reading);
    if (!judge.surely(reading) && !instead) continue;
    if ((judge.as_good(best, reading) || instead) && kinds.at(reading.change).steps == kinds.at(best.change).steps) {
      found.push_back(reading.change);
    }
  }
  return found;
}

void warn_of_colours(const InputReading& given, CheckDataReport& report) {
  for (const InputReading& reading : report.readings) {
    if (reading.change != kSwapped || report.perhaps == kSwapped) continue;
    if (*reading.misfit >= kSameMisfit * *given.misfit) continue;
    report.warnings.push_back({"colours-not-told-apart", {}});
  }
}

/// No reading changes how sure the network is.
bool all_alike(const std::vector<InputReading>& readings) {
  const auto [least, most] =
      std::ranges::minmax(readings, {}, [](const InputReading& reading) { return reading.confidence.value_or(0); });
  return most.confidence.value_or(0) - least.confidence.value_or(0) < kSameConfidence;
}

std::string unlike_training_words(double misfit) {
  return fmt::format("The inputs are unlike the training data ({:.2f} nats off at the first BatchNormalizations)",
                     misfit);
}

}  // namespace

bool more_right(const std::vector<bool>& a, const std::vector<bool>& b, double deviations) {
  double gained = 0, lost = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    gained += a[i] && !b[i] ? 1 : 0;
    lost += b[i] && !a[i] ? 1 : 0;
  }
  return gained - lost > deviations * std::sqrt(gained + lost);
}

void judge_readings(CheckDataReport& report, const ReadingHits& hits, const ReadingKinds& kinds) {
  const InputReading given = report.readings.front();
  if (!given.accuracy && !given.misfit && !given.confidence) {
    report.answer =
        "The inputs cannot be checked: the file has no BatchNormalization, and its output does not look like classes. "
        "If it has classes, pass ‹labels›.";
    return;
  }
  const Evidence judge = given.accuracy ? by_labels(given, hits)
                         : given.misfit ? by_statistics(given, kinds)
                                        : by_confidence(given, kinds);
  report.decided_by = judge.by;
  const InputReading* best = choose(judge, kinds, report.readings);
  const double right = std::max(given.accuracy.value_or(1), best == nullptr ? 0 : best->accuracy.value_or(0));
  const bool clear = best != nullptr && judge.surely(*best) && right >= kFewRight;
  const bool by_misfit = given.misfit && !given.accuracy;
  // Behind the first normalization the others see less and less of what is wrong.
  const double of_first = report.norms.empty() ? 0 : report.norms.front().misfit;
  report.unlike_training = !clear && by_misfit && *given.misfit > kMisfit;
  if (clear) {
    report.better = best->change;
    const std::vector<std::string> others = equally_good(judge, kinds, report.readings, *best);
    report.finding = fmt::format("The inputs fit better after a change ({}): {}", best->change, judge.figures(*best));
    if (!others.empty()) {
      report.finding =
          fmt::format("The inputs fit better after a change ({}; or {}: these samples do not distinguish them): {}",
                      best->change, fmt::join(others, "; or "), judge.figures(*best));
    }
    report.answer = report.finding + ".";
    report.undecided = !others.empty();
    if (report.decided_by == "confidence") report.answer += " Confidence alone is a hint: check it with labels.";
  } else if (report.unlike_training && best != nullptr && *best->misfit < kMuchBetterRange * *given.misfit &&
             judge.confused(*best, given)) {
    report.perhaps = best->change;
    report.finding = unlike_training_words(*given.misfit);
    report.answer = fmt::format(
        "{}. Images with less detail cause that, for example enlarged ones, and so does another range (with the "
        "change, "
        "{}, they are {:.2f} off).",
        report.finding, best->change, *best->misfit);
  } else if (report.unlike_training) {
    report.finding = unlike_training_words(*given.misfit) + ", and none of the usual changes makes them fit";
    report.answer = report.finding + ".";
  } else if (right < kFewRight) {
    report.answer = fmt::format(
        "The inputs cannot be checked: at most {:.1f} % of the labels match, under any reading. Are the labels the "
        "network's classes, with the same first number (‹label-offset›)?",
        100 * right);
  } else if (best != nullptr && judge.maybe(*best)) {
    report.perhaps = best->change;
    report.answer = fmt::format(
        "These samples do not show whether the inputs are right: they fit slightly better with \"{}\": {}. {}",
        best->change, judge.figures(*best), judge.would_decide);
  } else if (best == nullptr) {
    report.answer = "The inputs cannot be checked: none of the usual changes applies to them.";
  } else if (by_misfit && (*given.misfit > kDoubtful || of_first > kMisfit)) {
    const bool many = *given.misfit > kDoubtful;
    report.answer = fmt::format(
        "None of the usual changes fits better, but the inputs differ from training: {} {:.2f} nats off (0 is equal). "
        "Check how the inputs are prepared.",
        many ? "the first BatchNormalizations are" : "the first BatchNormalization is",
        many ? *given.misfit : of_first);
  } else if (report.decided_by == "confidence" && all_alike(report.readings)) {
    report.answer = fmt::format(
        "The inputs cannot be checked: with any change the network is about equally confident, {:.1f} % on average. {}",
        100 * *given.confidence, judge.would_decide);
  } else if (report.decided_by == "confidence") {
    report.answer =
        "None of the usual changes makes the network clearly more confident. That suggests right inputs. But this "
        "check cannot see inputs that are too large, because larger values make any network more confident. Give "
        "labels (‹labels›) to decide.";
  } else {
    report.answer = fmt::format("The inputs look right: none of the usual preprocessing mistakes fits better, by {}.",
                                report.decided_by);
  }
  if (!clear && by_misfit) warn_of_colours(given, report);
}

}  // namespace vernier
