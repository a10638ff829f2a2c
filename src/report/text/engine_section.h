// What an engine's compiler made of a file, as a section of the texts of other commands.
#pragma once

#include <string>

#include "vernier/report/engine.h"
#include "vernier/report/text.h"

namespace vernier {

/// The answer, and the layers that run in another format than the file asks for; the whole is in
/// report_to_text(EngineReport). Begins with a labelled line "Compiled".
std::string engine_section(const EngineReport& report, const TextOptions& options);

}  // namespace vernier
