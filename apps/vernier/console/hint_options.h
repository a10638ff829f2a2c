// Whether a hint can be followed: the options that it names are taken where it says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace vernier::cli {

/// The options in `hint` that cannot be given: each belongs to the command that the hint names before it ("vernier run
/// --check"), else to `app`. Empty: the hint can be followed.
std::vector<std::string> options_out_of_place(const CLI::App& app, std::string_view hint);

}  // namespace vernier::cli
