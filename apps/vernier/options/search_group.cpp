#include "options/search_group.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <utility>

#include "base/text.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "vernier/error.h"

namespace vernier::cli {
namespace {

const char* const kSearchGroup = "Search";

/// "50" evaluations, or "90s", "10m", "2h".
struct Budget {
  std::size_t evaluations = 0;
  double seconds = 0;
};

Budget parse_budget(const std::string& text) {
  if (text.empty()) return {};
  constexpr std::array<std::pair<char, double>, 3> kUnits{{{'s', 1}, {'m', 60}, {'h', 3600}}};
  for (const auto& [unit, seconds] : kUnits) {
    if (text.back() != unit) continue;
    const double count = parse_number("--budget", text.substr(0, text.size() - 1));
    if (!(count > 0)) throw Error(ErrorKind::Usage, fmt::format("--budget: {} is no time", printable(text)), "10m");
    return {0, count * seconds};
  }
  return {parse_count("--budget", text, 1, 1'000'000'000), 0};
}

}  // namespace

void SearchGroup::add(CLI::App& app) {
  add_value(app, "--cost", cost_, "UNIT",
            "What keeping a layer costs: layers macs bytes time; tensors that are converted where kept layers meet "
            "others count too. time: measured on the engine that --confirm-on, or --on of debug "
            "precision, names; else on ONNX Runtime's kernels, INT8 only (default: layers)")
      .group(kSearchGroup);
  add_value(app, "--budget", budget_, "N|TIME",
            "Stop after N runs over the samples, or after 90s, 10m, 2h of searching, with the best set so far "
            "(default: no limit)")
      .group(kSearchGroup);
  add_value(app, "--max-evaluations", max_evaluations_, "N", "The same as --budget N; 0: no limit (default: 0)")
      .group(kSearchGroup);
  add_value(app, "--confidence", confidence_, "P",
            "A trial may fail as soon as that is this certain, above 0.5 to 1; what passes has run on all samples "
            "(default: 1)")
      .group(kSearchGroup);
  add_flag(app, "--whole-groups", whole_groups_,
           "Keep or lower together: layers that read one quantized tensor, or whose results meet in an Add or a "
           "Concat")
      .group(kSearchGroup);
  add_flag(app, "--prove-minimum", prove_minimum_,
           "minimal: also look for a cheaper set, or prove how much cheaper one could be; takes more evaluations")
      .group(kSearchGroup);
  journal_given_ =
      add_value(app, "--journal", journal_, "FILE",
                "Every trial as one line of JSON, and FILE.best.json the plan of the best set so far; "
                "without --resume trials of an earlier search are moved to FILE.1 (default: none; of debug "
                "precision: MODEL-12345678.precision.jsonl in the folder of -o, or in ~/.cache/vernier)")
          .writes();
  journal_given_.group(kSearchGroup);
  add_flag(app, "--resume", resume_, "Go on where a search with the same journal stopped: no trial is repeated")
      .group(kSearchGroup);
  add_flag(app, "--pareto", pareto_, "Print accuracy against cost, from the trials made and up to six more")
      .group(kSearchGroup);
  add_value(app, "--pareto-csv", pareto_csv, "FILE", "Write it as CSV (default: not written)")
      .writes()
      .group(kSearchGroup);
  add_value(app, "--pareto-svg", pareto_svg, "FILE", "Draw it as SVG (default: not drawn)")
      .writes()
      .group(kSearchGroup);
}

void SearchGroup::add_modes(CLI::App& app) {
  add_value(app, "--mode", mode_, "MODE",
            "Which set to look for. minimal: a set of which no layer can be dropped. bisect, linear: the first N "
            "layers, N by halving or "
            "counting up. worst-first: the layers whose error rises most over their inputs' (default: minimal)")
      .group(kSearchGroup);
  add_value(app, "--direction,--dir", direction_, "DIRECTION",
            "bisect, linear: forward: the first N layers, reverse: the last N (default: forward)")
      .group(kSearchGroup);
  add_value(app, "--top", top_, "N", "worst-first: layers added at a time (default: 5)").group(kSearchGroup);
  add_flag(app, "--no-minimal", no_minimal_, "Other modes: do not also say what minimal needs instead")
      .group(kSearchGroup);
}

void SearchGroup::add_direction_as_mode(CLI::App& app, SearchMode mode, bool top) {
  fixed_mode_ = mode;
  add_value(app, "--mode", direction_, "DIRECTION",
            "forward: from the first layer on, reverse: from the last (default: forward)")
      .group(kSearchGroup);
  if (top) add_value(app, "--top", top_, "N", "Layers added at a time (default: 5)").group(kSearchGroup);
  add_flag(app, "--no-minimal", no_minimal_, "Do not also say what debug precision --mode minimal needs instead")
      .group(kSearchGroup);
}

void SearchGroup::add_golden(CLI::App& app) {
  add_value(app, "--golden", golden_, "FILE",
            "Saved outputs to compare with, one iteration a sample (default: the float32 model's own)")
      .group("Reference");
}

SearchOptions SearchGroup::values(const std::filesystem::path& journals) const {
  SearchOptions options;
  options.mode = mode_.empty() ? fixed_mode_ : parse_choice<SearchMode>("--mode", mode_);
  options.direction = parse_choice<SearchDirection>("--direction", direction_);
  const bool list = options.mode == SearchMode::Bisect || options.mode == SearchMode::Linear;
  if (options.direction == SearchDirection::Reverse && !list) {
    throw Error(ErrorKind::Usage,
                fmt::format("--direction reverse has no meaning with --mode {}: its layers have no order of their own",
                            word_of(options.mode)),
                "--mode bisect or --mode linear");
  }
  options.step = parse_count("--top", top_, 1, 1'000'000);
  options.cost = parse_choice<CostUnit>("--cost", cost_);
  options.confidence = parse_number("--confidence", confidence_);
  if (!(options.confidence > 0.5 && options.confidence <= 1)) {
    throw Error(ErrorKind::Usage, fmt::format("--confidence: {} is not above 0.5 and at most 1", confidence_), "0.99");
  }
  options.whole_groups = whole_groups_;
  options.prove_minimum = prove_minimum_;
  if (prove_minimum_ && options.mode != SearchMode::Minimal) {
    throw Error(ErrorKind::Usage, "--prove-minimum needs --mode minimal: other modes look at lists only");
  }
  const Budget budget = parse_budget(budget_);
  options.max_evaluations = parse_count("--max-evaluations", max_evaluations_, 0, 1'000'000'000);
  if (budget.evaluations > 0) {
    if (options.max_evaluations > 0) {
      throw Error(ErrorKind::Usage, "--budget and --max-evaluations both say how many", "leave one out");
    }
    options.max_evaluations = budget.evaluations;
  }
  options.max_seconds = budget.seconds;
  if (!journal_given_.given()) {
    options.journal_folder = journals;
  } else if (journal_ != "none") {
    options.journal = journal_;
  }
  options.resume = resume_;
  if (resume_ && options.journal.empty() && options.journal_folder.empty()) {
    throw Error(ErrorKind::Usage, "--resume needs the journal of the search that stopped", "--journal FILE");
  }
  options.golden = golden_;
  options.minimal_too = !no_minimal_;
  options.pareto = wants_pareto();
  return options;
}

}  // namespace vernier::cli
