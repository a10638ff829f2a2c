// Ctrl-C, SIGTERM, which schedulers send, and SIGHUP, which a terminal sends when it goes. The first one asks: jobs
// poll was_interrupted(), end early and keep what was found. A second Ctrl-C or SIGTERM ends the process at once with
// exit code 130. A second SIGHUP does not: shells pass on what the terminal has sent already.
#pragma once

namespace vernier::cli {

void catch_interrupts();
/// What a job polls: with the first true it has learned of the interrupt.
bool was_interrupted();
/// Whether a job learned of it: its results are partial. One that had all by then has lost nothing.
bool cut_short();

}  // namespace vernier::cli
