// Texts of the library inside a report: warnings, reasons, notes. Reports are told in words of the command.
#pragma once

#include <string>
#include <string_view>

#include "base/text.h"
#include "vernier/marks.h"
#include "vernier/report/kept_set.h"

namespace vernier {

/// A text of the library for a terminal, with --options in the place of its marks. Names alone need printable().
inline std::string told(std::string_view text) { return command_words(printable_text(text)); }

/// Whether a program or a person looked at each model and decided.
inline bool by_outside_check(const KeptSetReport& kept) { return told(kept.objective).starts_with("--check"); }

}  // namespace vernier
