#include "jobs/verify/default_optimizations.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "analysis/figures.h"
#include "base/text.h"
#include "engines/onnxruntime/runtime.h"
#include "jobs/common/runtime_check.h"
#include "jobs/verify/on_engine.h"
#include "model/contents.h"
#include "report/text/figures.h"
#include "vernier/error.h"
#include "vernier/report/typed.h"

namespace vernier {

std::optional<RunFigures> figures_by_default(const Model& typed, const Loaded& loaded, const Requirement* requirement,
                                             const JobSinks& sinks) {
  if (!holds_quantized_values(typed) || bytes_beside(typed) > kLargeWeights) return std::nullopt;
  JobSinks quiet;
  quiet.interrupted = sinks.interrupted;
  try {
    return figures_of(loaded.subject, outputs_on_engine(typed, loaded, nullptr, nullptr, quiet), requirement);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Backend) throw;
    return std::nullopt;  // whoever looks at placements says why
  }
}

namespace {

/// Whether some output of `there` is more than 0.5 dB below that of `elsewhere`, and below 50 dB.
bool is_worse(const RunFigures& there, const RunFigures& elsewhere) {
  constexpr double kMatters = 0.5, kFine = 50;  // above that another order of sums shows
  return !std::ranges::equal(there.outputs, elsewhere.outputs, [](const OutputFigure& a, const OutputFigure& b) {
    return a.sqnr_db >= kFine || !(a.sqnr_db < b.sqnr_db - kMatters);
  });
}

}  // namespace

std::optional<Note> lost_by_default(const RunFigures& there, const RunFigures& simulated,
                                    const std::optional<SaturatedPairs>& saturated,
                                    const std::optional<Requirement>& requirement, const std::string& version) {
  if (!is_worse(there, simulated)) return std::nullopt;
  if (saturated && saturated->runtime == Target::OnnxRuntime && !is_worse(there, saturated->figures))
    return std::nullopt;
  return Note{"lost-by-default-optimizations",
              {{"version", version},
               {"there", figure_text(there, requirement)},
               {"simulated", figure_text(simulated, requirement)}}};
}

UsersGet what_users_get(const Model& typed, const Loaded& loaded, const RunFigures& simulated,
                        const std::optional<SaturatedPairs>& saturated, const std::optional<Requirement>& requirement,
                        const JobSinks& sinks) {
  const std::string& version = loaded.subject.runtime->version();
  std::optional<RunFigures> there = figures_by_default(typed, loaded, requirement ? &*requirement : nullptr, sinks);
  if (there) {
    std::optional<Note> lost = lost_by_default(*there, simulated, saturated, requirement, version);
    if (!lost) there.reset();
    return {std::move(lost), std::move(there), false};
  }
  if (!holds_quantized_values(typed)) return {};
  const std::optional<RuntimeCheck> check = try_on_runtime(loaded.subject.runtime, typed, *loaded.samples);
  return {check ? refusal_note(*check, version) : std::nullopt, {}, check && !check->refused.empty()};
}

}  // namespace vernier
