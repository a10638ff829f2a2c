#include "report/text/how_sure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/counts.h"
#include "base/layout.h"
#include "base/text.h"
#include "report/text/figures.h"
#include "report/text/numbers.h"
#include "vernier/format.h"
#include "vernier/report/figures.h"
#include "vernier/requirement.h"

namespace vernier {
namespace {

/// How sure the deciding figure is, over so many samples, and how many would decide a limit that it may miss.
void say_interval(const DiagnoseReport& report, const OutputFigure& figure, Answer& answer) {
  const bool of_sqnr = !report.requirement || report.requirement->metric == Metric::MinSqnrDb;
  const bool of_top1 = report.requirement && report.requirement->metric == Metric::MinTop1Agreement;
  const std::optional<SamplingInterval>& interval = of_top1 ? figure.top1_interval : figure.sqnr_interval;
  if (!interval || !(of_sqnr || of_top1)) return;
  const auto text = [&](double value) { return of_top1 ? percent_text(value) : db_text(value); };
  const std::size_t samples = report.samples;
  constexpr double kNothing = -6;  // dB of an output as large as the float model's, of opposite sign
  answer.sentence += fmt::format(" 95 % confidence over these {}: ", plural(samples, "sample"));
  if (!of_top1 && interval->low <= kNothing) {
    answer.sentence += fmt::format("at most {} dB, with no lower end.", text(interval->high));
  } else {
    answer.sentence += fmt::format("{} to {}{}.", text(interval->low), text(interval->high), of_top1 ? "" : " dB");
  }
  if (!report.requirement) return;
  const double limit = report.requirement->limit_for(figure.name).value_or(0);
  const double value = of_top1 ? figure.top1_agreement.value_or(0) : figure.sqnr_db;
  const std::string undecided =
      undecided_text(*interval, value, limit, limit_text(report.requirement->metric, limit), samples);
  if (!undecided.empty()) answer.first(undecided);
}

/// "about 1,200 samples would decide it": the width of what samples leave open shrinks with the root of their number.
std::string samples_to_decide(std::size_t samples, double value, double above, double limit) {
  const double ratio = (value - above) / std::max(value - limit, 1e-9);
  const double wanted = std::ceil(static_cast<double>(samples) * ratio * ratio);
  if (!(wanted < 1e6)) return "the figure is too close to it for any number of samples";
  return fmt::format("about {} samples would, if the figure stays the same",
                     count_text(static_cast<std::int64_t>(wanted)));
}

/// What no figure of few samples can exclude: with a confidence of c, at most a share 1 - (1 - c)^(1 / n) of new
/// samples is worse than the worst of n, whatever their distribution. Source: S. S. Wilks, "Determination of sample
/// sizes for setting tolerance limits", Annals of Mathematical Statistics 12 (1941).
std::string unlike_text(std::size_t samples, double confidence) {
  const double share = 1 - std::pow(1 - confidence, 1 / static_cast<double>(samples));
  return fmt::format("up to 1 new sample in {:.0f} may be worse than all {}", std::floor(1 / share), samples);
}

/// That few samples decide the figure, so that it says little of others.
void say_heavy_tail(const DiagnoseReport& report, const OutputFigure& figure, Answer& answer) {
  if (!figure.heavy_tail) return;
  answer.sentence +=
      fmt::format(" {} of {} {} {} of the error.", figure.heavy_tail->samples, plural(report.samples, "sample"),
                  figure.heavy_tail->samples == 1 ? "holds" : "hold", percent_text(figure.heavy_tail->share));
  if (!figure.softmax_input) return;
  const SoftmaxInput& input = *figure.softmax_input;
  std::string above;
  if (input.sqnr_above) {
    above = fmt::format(" ({} dB on new samples{})", db_text(*input.sqnr_above),
                        report.requirement ? fmt::format(", {:g} % sure", 100 * report.requirement->confidence) : "");
  }
  answer.then(
      fmt::format("A Softmax magnifies the error of undecided samples. Its input '{}' {}{}. To compare classes, pass "
                  "--min-top1-agreement.",
                  shorten_middle(printable(input.tensor), 40),
                  std::isfinite(input.sqnr_db) ? "has " + db_text(input.sqnr_db) + " dB" : "is exact", above));
}

}  // namespace

bool calibrated_on_same_samples(const DiagnoseReport& report) {
  return report.calibrated_on_evaluation_samples && !report.cross_fit && std::ranges::any_of(report.low, needs_scale);
}

void say_how_sure(const DiagnoseReport& report, const RunFigures& run, Answer& answer) {
  const OutputFigure* figure = deciding_output(run, report.requirement);
  if (figure == nullptr) return;
  const bool of_classes = report.requirement && report.requirement->metric == Metric::MinTop1Agreement;
  if (!of_classes) say_heavy_tail(report, *figure, answer);
  if (!report.requirement || report.requirement->confidence <= 0.5) return say_interval(report, *figure, answer);
  const Requirement& requirement = *report.requirement;
  const bool of_top1 = requirement.metric == Metric::MinTop1Agreement;
  if (!(of_top1 || requirement.metric == Metric::MinSqnrDb)) return;
  const double limit = requirement.limit_for(figure->name).value_or(0);
  const std::optional<double>& above = of_top1 ? figure->top1_above : figure->sqnr_above;
  const double value = of_top1 ? figure->top1_agreement.value_or(0) : figure->sqnr_db;
  if (!std::isfinite(value)) return;
  const std::string samples = plural(report.samples, "sample");
  if (!above) {
    answer.sentence +=
        fmt::format(" {} {} too few to predict the result on new ones.", samples, report.samples == 1 ? "is" : "are");
    return;
  }
  const auto text = [&](double of) { return of_top1 ? percent_text(of) : db_text(of) + " dB"; };
  if (calibrated_on_same_samples(report)) {
    answer.sentence += " These samples calibrated the ranges too, so they cannot show what new ones get.";
    return;
  }
  constexpr std::size_t kFewSamples = 30;
  answer.sentence += fmt::format(" On {}new samples: above {}, {:g} % sure", of_top1 ? "" : "as many ", text(*above),
                                 100 * requirement.confidence);
  const bool few = report.samples < kFewSamples && !of_top1;
  answer.sentence += few ? fmt::format("; {}.", unlike_text(report.samples, requirement.confidence)) : ".";
  if (value < limit || *above >= limit) return;
  answer.first(of_top1 && run.passed == true
                   ? fmt::format("{} cannot prove {}, whatever the result: the figure itself decided.", samples,
                                 limit_text(requirement.metric, limit))
                   : fmt::format("{} do not decide {}: {}.", samples, limit_text(requirement.metric, limit),
                                 samples_to_decide(report.samples, value, *above, limit)));
}

}  // namespace vernier
