#include "jobs/verify/default_optimizations.h"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/figures.h"
#include "base/text.h"
#include "engines/onnxruntime/session.h"
#include "jobs/verify/on_engine.h"
#include "model/contents.h"
#include "report/text/figures.h"
#include "vernier/error.h"

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

bool is_worse(const RunFigures& there, const RunFigures& elsewhere) {
  constexpr double kMatters = 0.5, kFine = 50;  // dB; above that another order of sums shows
  return !std::ranges::equal(there.outputs, elsewhere.outputs, [](const OutputFigure& a, const OutputFigure& b) {
    return a.sqnr_db >= kFine || !(a.sqnr_db < b.sqnr_db - kMatters);
  });
}

std::string default_optimizations_text(const RunFigures& there, const RunFigures& simulated,
                                       const std::optional<Requirement>& requirement, const std::string& version) {
  return fmt::format(
      "in ONNX Runtime {} with its default optimizations, the result on this machine is at {}, not {} (measured)",
      printable(version), figure_text(there, requirement), figure_text(simulated, requirement));
}

}  // namespace vernier
