// The words of NVIDIA ModelOpt's `python -m modelopt.onnx.quantization`, as `vernier quantize` takes them.
#pragma once

#include <string>
#include <vector>

#include "options/syntax.h"

namespace vernier::cli {

/// Of a line of `vernier quantize`, names in their form with dashes: those that mean what an option here means get its
/// name, and --onnx-path becomes the model.
void rename_words_of_modelopt(std::vector<std::string>& arguments);

/// Those that change nothing here, or are refused with the reason; hidden from the help.
/// What was given and does nothing is added to `without_effect`, in words.
void add_words_of_modelopt(CLI::App& app, std::vector<std::string>& without_effect);

}  // namespace vernier::cli
