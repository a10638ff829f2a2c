#include "jobs/verify/file_fault.h"

#include <cstddef>
#include <vector>

#include "analysis/trials.h"
#include "base/refuse.h"
#include "base/text.h"
#include "jobs/common/load.h"
#include "jobs/verify/verify.h"
#include "plan/float_interface.h"
#include "plan/simulate_typed.h"
#include "vernier/tensor.h"

namespace vernier {

Error fault_of_file(const Error& error, const Model& typed, const OnnxModel& float_model, Sources& sources) {
  if (error.kind() != ErrorKind::Backend) return error;
  try {
    Model file = typed;
    give_float_interface(file, *sources.model(float_model));
    SimulatedFile simulated = simulate_typed(file);
    const Loaded loaded = load_beside(file, simulated, float_model, sources);
    try {
      run_outputs(loaded.subject, simulated.model, {0}, [](std::size_t, const std::vector<Tensor>&) { return false; });
    } catch (const Error& own) {
      if (own.kind() != ErrorKind::Backend) return error;
      return placed(printable(typed.path.string()), Error(own.code(), reason_with_node(own), own.hint()));
    }
  } catch (const Error& other) {
    if (other.kind() == ErrorKind::Interrupted) return other;
  }
  return error;
}

}  // namespace vernier
