// Text inside a page.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/json.h"

namespace vernier {

/// `text` as content or as an attribute in quotes: & < > " ' written as references.
std::string html_text(std::string_view text);

/// A document for a <script type="application/json"> element: ASCII, and without < > & so that nothing in it can end
/// the element or begin another.
std::string json_in_html(const Json& json);

/// page.html with every {{place}} filled; what is put in is taken as it is.
std::string filled_page(const std::vector<std::pair<std::string_view, std::string>>& places);

}  // namespace vernier
