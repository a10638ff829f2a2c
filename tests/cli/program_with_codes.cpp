// The program with the code of each note in the place of its sentence (test_notes.py).
#include <algorithm>

#include "console/console.h"
#include "console/job.h"
#include "console/process_setup.h"
#include "console/program.h"
#include "vernier/report/note_text.h"

int main(int argc, char** argv) {
  using namespace vernier::cli;
  vernier::show_codes_of_notes(true);
  set_up_process();
  return with_enough_stack([&] {
    Console console;
    return run_in_job(console, [&] { return run_program({argv + std::min(argc, 1), argv + argc}, console); });
  });
}
