// Shared libraries of custom operators (--custom-ops): each has a function RegisterCustomOps(), which ONNX Runtime
// calls. They are loaded into this process, so what they do is done to it; whether they can be loaded at all is tried
// in a copy.
#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <string>
#include <vector>

#include "engines/onnxruntime/runtime.h"

namespace vernier {

/// Options of a session that know the operators of `libraries`, to be cloned for each session. The libraries stay in
/// the process. Errors: Input where a file is no such library; Backend where it crashes, or says an error, in its
/// words.
OwnedOptions register_libraries(const Runtime& runtime, const std::vector<std::filesystem::path>& libraries);

/// When `refusal`, the runtime's words on `proto`, speaks of an operator of a domain that is not ONNX's own: throws
/// Error{Backend} that names the node, its operator and domain, and --custom-ops.
void refuse_custom_operator(const Runtime& runtime, const onnx::ModelProto& proto, const std::string& path,
                            const std::string& refusal);

}  // namespace vernier
