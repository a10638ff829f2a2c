// What the machine is, for the record of a run.
#pragma once

#include <string>

namespace vernier {

/// "AMD EPYC 7B13, 8 usable cores", "NVIDIA Jetson AGX Orin Developer Kit, 12 usable cores": the CPU, else the board,
/// as Linux names it; "aarch64 CPU" where it names neither.
std::string machine_text();

}  // namespace vernier
