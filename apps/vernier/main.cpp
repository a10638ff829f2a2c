#include <algorithm>

#include "console/console.h"
#include "console/job.h"
#include "console/program.h"

int main(int argc, char** argv) {
  using namespace vernier::cli;
  Console console;
  return run_in_job(console, [&] { return run_program({argv + std::min(argc, 1), argv + argc}, console); });
}
