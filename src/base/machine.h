// What the machine is, for the record of a run.
#pragma once

#include <string>

namespace vernier {

/// "AMD EPYC 7B13, 8 usable cores": the CPU as /proc/cpuinfo names it, "unknown CPU" where it names none.
std::string machine_text();

}  // namespace vernier
