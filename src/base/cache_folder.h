// Where the program keeps what a user did not ask for by name.
#pragma once

#include <filesystem>

namespace vernier {

/// $XDG_CACHE_HOME/vernier, or ~/.cache/vernier where that is not set or is no absolute path (as the XDG base directory
/// specification has it); empty for a user without a home. It is not made.
std::filesystem::path cache_folder();

}  // namespace vernier
