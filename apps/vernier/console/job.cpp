#include "console/job.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <optional>

#include "base/file.h"
#include "console/console.h"
#include "console/failures.h"
#include "distributed/launcher.h"
#include "distributed/ranks.h"
#include "vernier/error.h"

namespace vernier::cli {
namespace {

void be_silent() {
  NewFile::discard_all();
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) return;
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
}

/// On one machine shared memory is all that ranks need. Open MPI, told nothing, asks what networks there are, and one
/// of those who answer (libfabric) measures a clock for a fifth of a second first.
void need_no_network() {
  const Launcher launcher = launcher_of_this();  // before any thread of ours
  if (launcher.mpi == "openmpi" && launcher.on_one_machine) ::setenv("OMPI_MCA_pml", "ob1", /*overwrite=*/0);
}

int body_on_every_rank(const std::function<int()>& body) {
  need_no_network();
  join_job();
  Ranks& ranks = job_ranks();
  if (!ranks.first()) be_silent();
  int code = 0;
  std::exception_ptr thrown;
  std::optional<Error> failure;
  try {
    code = body();
  } catch (const Error& error) {
    failure = error;
    thrown = std::current_exception();
  } catch (const std::exception& error) {
    failure = Error(ErrorKind::Internal, error.what());
    thrown = std::current_exception();
  }
  const std::optional<Error> elsewhere = ranks.end(failure ? &*failure : nullptr);
  if (thrown) std::rethrow_exception(thrown);
  if (elsewhere) throw Error(*elsewhere);
  return code;
}

}  // namespace

int run_in_job(Console& console, const std::function<int()>& body) {
  const int code = run_guarded(console, [&] { return body_on_every_rank(body); });
  job_ranks().finish();
  return job_ranks().first() ? code : 0;
}

}  // namespace vernier::cli
