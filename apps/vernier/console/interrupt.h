// Ctrl-C, and SIGTERM, which schedulers send. The first one asks: jobs poll was_interrupted(), end early and keep what
// was found. The second one ends the process at once with exit code 130.
#pragma once

namespace vernier::cli {

void catch_interrupts();
bool was_interrupted();

}  // namespace vernier::cli
