#include "jobs/verify/file_fault.h"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

#include "analysis/trials.h"
#include "base/text.h"
#include "jobs/common/load.h"
#include "jobs/verify/verify.h"
#include "plan/simulate_typed.h"
#include "vernier/tensor.h"

namespace vernier {

Error fault_of_file(const Error& error, const Model& typed, const OnnxModel& float_model, Sources& sources) {
  if (error.kind() != ErrorKind::Backend) return error;
  try {
    SimulatedFile simulated = simulate_typed(typed);
    const Loaded loaded = load_beside(typed, simulated, float_model, sources);
    try {
      run_outputs(loaded.subject, simulated.model, {0}, [](std::size_t, const std::vector<Tensor>&) { return false; });
    } catch (const Error& own) {
      if (own.kind() != ErrorKind::Backend) return error;
      const std::string file = printable(typed.path.string()) + ": ", text = own.what();
      return {ErrorKind::Backend, text.starts_with(file) ? text : file + text, own.hint()};
    }
  } catch (const Error& other) {
    if (other.kind() == ErrorKind::Interrupted) return other;
  }
  return error;
}

}  // namespace vernier
