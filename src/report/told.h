// Texts of the library inside a report: warnings, reasons, notes. Reports are told in words of the command.
#pragma once

#include <string>
#include <string_view>

#include "base/text.h"
#include "vernier/marks.h"

namespace vernier {

/// A text of the library for a terminal, with --options in the place of its marks. Names alone need printable().
inline std::string told(std::string_view text) { return command_words(printable_text(text)); }

}  // namespace vernier
