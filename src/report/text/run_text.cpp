// `vernier run` as text, while it goes on.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/text.h"
#include "vernier/report/comparison.h"
#include "vernier/report/run.h"

namespace vernier {
namespace {

std::string origin_text(const std::optional<NonFiniteOrigin>& origin) {
  if (!origin) return "";
  if (origin->tensor.empty()) return "; with every tensor as output all are finite, so a fusion makes them";
  if (origin->layer.empty()) return fmt::format("; the input '{}' is not finite", printable(origin->tensor));
  return fmt::format("; it begins in tensor '{}' ({} NaN, {} infinite of {}), made by layer '{}' ({})",
                     printable(origin->tensor), origin->nan, origin->infinite, origin->count, printable(origin->layer),
                     origin->op_type);
}

std::string line_of(const NonFiniteOutput& found) {
  return fmt::format("[E] {}, iteration {}: output '{}': {} of {} values {} NaN, {} infinite{}\n", found.run,
                     found.iteration, printable(found.output), found.nan, found.count, found.nan == 1 ? "is" : "are",
                     found.infinite, origin_text(found.origin));
}

std::string line_of(const RunnerDone& done) {
  const double ms = 1000 * done.seconds;
  return fmt::format("[I] {:35} | Completed {} iteration(s) in {:.4g} ms | Average inference time: {:.4g} ms.\n",
                     printable(done.run), done.iterations, ms,
                     ms / static_cast<double>(std::max<std::size_t>(done.iterations, 1)));
}

std::string line_of(const RunSaved& saved) {
  return fmt::format("[I] Saved {} of {} to {}\n", saved.inputs ? "inputs" : "outputs",
                     plural(saved.iterations, "iteration"), printable(saved.path.string()));
}

std::string line_of(const NothingCompared& ran) {
  return fmt::format("[I] {} ran {}: nothing was compared\n", printable(ran.run), plural(ran.iterations, "iteration"));
}

}  // namespace

RunText::RunText(const ComparisonTextOptions& options, std::function<void(const std::string&)> print)
    : options_(options), print_(std::move(print)) {}

void RunText::operator()(const RunEvent& event) {
  if (const auto* begins = std::get_if<ComparisonBegins>(&event)) {
    print_(pair_header_to_text(begins->run, begins->reference, options_));
  } else if (const auto* compared = std::get_if<IterationCompared>(&event)) {
    std::string text = iteration_to_text(*compared->comparison, compared->run, compared->reference, *compared->got,
                                         *compared->ref, options_);
    if (compared->pair == 0) return print_(text);
    waiting_.resize(std::max(waiting_.size(), compared->pair + 1));
    waiting_[compared->pair] += text;
  } else if (const auto* shown = std::get_if<PictureShown>(&event)) {
    print_(picture_to_text(shown->picture));
  } else if (const auto* done = std::get_if<PairDone>(&event)) {
    const PairSummary& summary = done->summary;
    if (done->pair > 0) {
      waiting_.resize(std::max(waiting_.size(), done->pair + 1));
      print_(pair_header_to_text(summary.run, summary.reference, options_) +
             std::exchange(waiting_[done->pair], std::string()));
    }
    print_(summary_to_text(summary, options_));
  } else if (const auto* found = std::get_if<NonFiniteOutput>(&event)) {
    print_(line_of(*found));
  } else if (const auto* runner = std::get_if<RunnerDone>(&event)) {
    print_(line_of(*runner));
  } else if (const auto* saved = std::get_if<RunSaved>(&event)) {
    print_(line_of(*saved));
  } else if (const auto* ran = std::get_if<NothingCompared>(&event)) {
    print_(line_of(*ran));
  }
}

}  // namespace vernier
