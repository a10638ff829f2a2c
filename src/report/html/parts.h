// The pages' own files, as text: page.html with {{places}}, style.css, and the scripts one behind the other.
#pragma once

#include <string>
#include <string_view>

namespace vernier {

std::string_view page_template();
std::string_view page_style();
std::string page_script();
std::string stages_script();   // of the page of a pipeline
std::string verdict_script();  // of the page of `vernier verify`

}  // namespace vernier
