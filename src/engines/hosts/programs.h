// The Python programs that hold engines. Each says at its beginning what it is given and what it answers.
#pragma once

#include <string>

namespace vernier {

std::string tensorrt_program();  // TensorRT and TensorRT-RTX
std::string trtexec_program();   // TensorRT by its program alone
std::string openvino_program();

}  // namespace vernier
