// Messages of other libraries, as our users should read them.
#pragma once

#include <string>

namespace vernier {

/// `text` in one line, without where in its own sources a library says it: "FILE.cc:LINE SIGNATURE ", "FILE.cc:LINE
/// NAME ", "FILE.cc:LINE: FUNCTION: Assertion `CONDITION` failed: ", " In FUNCTION at /FILE:LINE".
std::string without_source_places(std::string text);

}  // namespace vernier
