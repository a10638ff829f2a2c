// Shapes of open inputs in trtexec's words.
#pragma once

#include <string>

#include "vernier/report/diagnose.h"

namespace vernier {

/// "--minShapes=x:1x3x8x8", --optShapes and --maxShapes, each behind `before`: an engine for the shapes that the
/// samples had, and OpenInput::usual the one to be fast for. Empty where no input is open, or a name cannot be said
/// there.
std::string trtexec_shapes(const DiagnoseReport& report, const std::string& before);

}  // namespace vernier
