#include "vernier/marks.h"

#include <cstddef>
#include <utility>

#include "vernier/error.h"

namespace vernier {
namespace {

constexpr std::string_view kOpen = "‹";
constexpr std::string_view kClose = "›";

}  // namespace

std::string replace_marks(std::string_view text, const std::function<std::string(const Marked&)>& say) {
  std::string out;
  for (;;) {
    const std::size_t close = text.find(kClose);
    if (close == std::string_view::npos) return out.append(text);
    // The last one before it: what was opened earlier was never closed.
    const std::size_t open = text.substr(0, close).rfind(kOpen);
    if (open == std::string_view::npos) {
      out.append(text.substr(0, close + kClose.size()));
    } else {
      const std::size_t begin = open + kOpen.size();
      out.append(text.substr(0, open)).append(say({std::string(text.substr(begin, close - begin))}));
    }
    text.remove_prefix(close + kClose.size());
  }
}

std::vector<Marked> marked_in(std::string_view text) {
  std::vector<Marked> found;
  replace_marks(text, [&](const Marked& mark) {
    found.push_back(mark);
    return std::string();
  });
  return found;
}

std::string command_words(std::string_view text) {
  return replace_marks(text, [](const Marked& mark) {
    if (mark.is_command()) return mark.text;
    // The one option that people know by its letter.
    return mark.text == "output" ? "-o" : "--" + mark.text;
  });
}

std::string Error::subject() const {
  for (const Marked& mark : marked_in(what())) {
    if (!mark.is_command()) return mark.text;
  }
  return {};
}

std::vector<Marked> Error::remedies() const { return marked_in(hint_); }

Error Error::about(std::string node, std::string reason) const {
  Error error = *this;
  error.node_ = std::move(node);
  error.reason_ = std::move(reason);
  return error;
}

}  // namespace vernier
