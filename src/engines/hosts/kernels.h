// Kernels of a compiled engine, as its makers write them: TensorRT's engine inspector and `trtexec --exportLayerInfo`
// write JSON; a compiler without a GPU prints lines. Where streams wait for each other (kinds "signal" and "wait")
// nothing is computed, and no kernel is listed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "vernier/report/engine.h"

namespace vernier {

/// What a build with detailed profiling verbosity prints behind "Layers:", a line a kernel. Lines of other forms are
/// left out.
std::vector<EngineKernel> kernels_from_lines(std::string_view text);

/// {"Layers": [...]}: objects with the keys Name, LayerType, Inputs, Outputs, TacticName, Metadata; or names alone, as
/// without detailed verbosity. Errors: Input where it is something else; `where` names it.
std::vector<EngineKernel> kernels_from_json(std::string_view text, const std::string& where);

/// "int8" for "Int8" and for "Channel major INT8 format": the type in an engine's words; the words where none is known.
std::string type_in(std::string_view words);

}  // namespace vernier
