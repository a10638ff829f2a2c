// Which build of the library this is, for what one build keeps and another one must not take for its own.
#pragma once

#include <string>

namespace vernier {

/// Size and time of the file that holds this code, the program or a library; empty where there is none to be asked.
std::string program_stamp();

}  // namespace vernier
