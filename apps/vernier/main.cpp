#include <algorithm>
#include <cstdlib>

#include "console/console.h"
#include "console/job.h"
#include "console/process_setup.h"
#include "console/program.h"

int main(int argc, char** argv) {
  using namespace vernier::cli;
  // ONNX Runtime from 1.31 on collects in the user's cache folder how it is used, to be sent to its maker, unless it is
  // told not to before it is loaded.
  ::setenv("ORT_DISABLE_TELEMETRY", "1", /*overwrite=*/0);
  set_up_process();
  return with_enough_stack([&] {
    Console console;
    return run_in_job(console, [&] { return run_program({argv + std::min(argc, 1), argv + argc}, console); });
  });
}
