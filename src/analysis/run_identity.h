// What the results of runs hang on, in words, for whoever keeps them.
#pragma once

#include <string>

#include "analysis/subject.h"

namespace vernier {

/// Lines for the build, the machine, the network and how it is run; without its samples. Weights that are not in the
/// message count as those of the file.
std::string run_identity(const Subject& subject);

}  // namespace vernier
