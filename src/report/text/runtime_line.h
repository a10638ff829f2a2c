// The line that says on what GPU the networks ran.
#pragma once

#include <cstddef>
#include <string>

namespace vernier {

/// "ONNX Runtime  1.31.1 on NVIDIA H200 (cuda:0)"; empty where `version` names no device: on the CPU.
std::string runtime_line(const std::string& version, std::size_t width);

/// runner_text() of what ran there.
std::string runner_text_on(const std::string& version, const std::string& runner);

}  // namespace vernier
