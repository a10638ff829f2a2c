// What the machine is, for the record of a run, and whether it has room.
#pragma once

#include <cstddef>
#include <string>

namespace vernier {

/// "AMD EPYC 7B13, 8 usable cores", "NVIDIA Jetson AGX Orin Developer Kit, 12 usable cores": the CPU, else the board,
/// as Linux names it; "aarch64 CPU" where it names neither.
std::string machine_text();

/// Before code that crashes without memory instead of saying so. Errors: std::bad_alloc where `bytes` more cannot be
/// had.
void require_memory(std::size_t bytes);

}  // namespace vernier
