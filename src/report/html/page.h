// Text inside a page.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace vernier {

/// `text` as content or as an attribute in quotes: & < > " ' written as references.
std::string html_text(std::string_view text);

/// A document for a <script type="application/json"> element: ASCII, and without < > & so that nothing in it can end
/// the element or begin another.
std::string json_in_html(const nlohmann::ordered_json& json);

}  // namespace vernier
