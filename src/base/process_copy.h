// Work that may crash, tried in a copy of this process: a library of the user's that is loaded into it.
#pragma once

#include <functional>
#include <string>

#include "base/process.h"

namespace vernier {

/// Runs `work` in a copy of this process and says how that ended; what `work` throws is an ordinary end. The copy has
/// the thread that calls alone, so call it before others hold locks that `work` needs. `words`: the last line that the
/// copy printed, which reaches nobody else. Errors: Backend when the system makes no copy.
ProcessEnd run_in_copy(const std::function<void()>& work, unsigned seconds, std::string& words);

}  // namespace vernier
