// An Evaluator for tests: hands the model to ONNX Runtime in a Python process (tests/diff/evaluate.py), because this
// folder may not know an engine.
#pragma once

#include <filesystem>
#include <string>

#include "model/prepare.h"
#include "vernier/samples.h"

namespace vernier::testing {

/// `python` and `script` name the interpreter and evaluate.py; files lie in `folder` while it runs.
Evaluator python_evaluator(const std::string& python, const std::string& script, const std::filesystem::path& folder);

/// A sample as the file that evaluate.py reads and writes: a GraphProto whose initializers are the tensors.
Sample read_sample(const std::filesystem::path& path);

}  // namespace vernier::testing
