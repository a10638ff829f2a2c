// What happens while `vernier run` goes on, and how it is told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "vernier/comparison.h"
#include "vernier/export.h"
#include "vernier/report/comparison.h"
#include "vernier/report/error_picture.h"
#include "vernier/runs.h"

namespace vernier {

/// Where values that are not finite begin, with every tensor of the runner in sight.
struct NonFiniteOrigin {
  std::string tensor;          // empty: all are finite then
  std::string layer, op_type;  // of the node that made it; empty: an input
  std::int64_t nan = 0, infinite = 0, count = 0;
};

/// An output that was validated and has values that are not finite.
struct NonFiniteOutput {
  std::string run, output;
  std::size_t iteration = 0;
  std::int64_t nan = 0, infinite = 0, count = 0;
  std::optional<NonFiniteOrigin> origin;  // absent: the runner cannot be asked
};

/// The first event where there are pairs: of the first of them.
struct ComparisonBegins {
  std::string run, reference;
};

/// What is pointed to lives as long as the call.
struct IterationCompared {
  std::size_t pair = 0;  // iterations of different pairs come interleaved
  std::string run, reference;
  const IterationComparison* comparison = nullptr;
  const Iteration* got = nullptr;  // postprocessed, as it was compared
  const Iteration* ref = nullptr;
};

struct RunnerDone {
  std::string run;
  std::size_t iterations = 0;
  double seconds = 0;  // of all inferences
};

struct PairDone {
  std::size_t pair = 0;
  PairSummary summary;
};

struct RunSaved {
  bool inputs = false;  // else outputs
  std::size_t iterations = 0;
  std::filesystem::path path;
};

struct NothingCompared {
  std::string run;
  std::size_t iterations = 0;
};

/// A picture that was asked for, behind the comparison of its iteration.
struct PictureShown {
  ErrorPicture picture;
};

using RunEvent = std::variant<ComparisonBegins, NonFiniteOutput, IterationCompared, PictureShown, RunnerDone, PairDone,
                              RunSaved, NothingCompared>;
/// Called in the order of the iterations, one call at a time.
using RunEvents = std::function<void(const RunEvent&)>;

/// Tells a run in the peer's form, part by part while it goes on. A sink of events, of one run.
class VERNIER_API RunText {
 public:
  /// `print` gets whole lines.
  RunText(const ComparisonTextOptions& options, std::function<void(const std::string&)> print);
  void operator()(const RunEvent& event);

 private:
  ComparisonTextOptions options_;
  std::function<void(const std::string&)> print_;
  /// By pair. The first is printed as it comes; the others wait, so that each reads as one.
  std::vector<std::string> waiting_;
};

}  // namespace vernier
