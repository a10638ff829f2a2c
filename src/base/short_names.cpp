#include "base/short_names.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "base/layout.h"
#include "base/utf8.h"

namespace vernier {
namespace {

constexpr std::string_view kLeftOut = "..";

/// The letters of a valid text, each with its bytes.
std::vector<std::string_view> letters_of(std::string_view text) {
  std::vector<std::string_view> letters;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = code_point(text, at).bytes;
    letters.push_back(text.substr(at, bytes));
    at += bytes;
  }
  return letters;
}

/// What at least three in five of the names begin (or end) with.
std::string shared_end(const std::vector<std::string>& names, bool at_end) {
  constexpr std::size_t kWorth = 6;     // letters: Conv_12 says more than 12
  constexpr std::size_t kLooked = 160;  // letters; a file may hold a name of a megabyte
  constexpr std::size_t kLeast = 3;     // names
  std::map<std::string, std::size_t> counts;
  for (const std::string& name : names) {
    for (std::size_t i = 1; i < std::min(name.size(), kLooked); ++i) {
      const std::size_t at = at_end ? name.size() - i : i - 1;
      if (std::string_view("/.:_").find(name[at]) == std::string_view::npos) continue;
      ++counts[at_end ? name.substr(at) : name.substr(0, i)];
    }
  }
  std::string best;
  for (const auto& [end, times] : counts) {
    if (end.size() > std::max(kWorth, best.size()) && times >= kLeast && 5 * times >= 3 * names.size()) best = end;
  }
  return best;
}

/// Letters of `names[i]` at which it parts from others, by `sorted` names: the places where a search for it would
/// branch.
std::set<std::size_t> branches(const std::vector<std::string>& sorted, std::size_t i) {
  constexpr std::size_t kLooked = 512;  // names on each side
  const auto common = [](std::string_view one, std::string_view other) {
    const auto end = std::mismatch(one.begin(), one.end(), other.begin(), other.end()).first;
    return static_cast<std::size_t>(end - one.begin());
  };
  std::set<std::size_t> places;
  std::size_t least = sorted[i].size();
  for (std::size_t k = i; k > 0 && i - k < kLooked && least > 0; --k) {
    least = std::min(least, common(sorted[k], sorted[k - 1]));
    places.insert(least);
  }
  least = sorted[i].size();
  for (std::size_t k = i; k + 1 < sorted.size() && k - i < kLooked && least > 0; ++k) {
    least = std::min(least, common(sorted[k], sorted[k + 1]));
    places.insert(least);
  }
  return places;
}

/// A name of which only some letters are shown.
class Shown {
 public:
  explicit Shown(std::string_view name) : letters_(letters_of(name)), shown_(letters_.size(), false) {}

  std::size_t letters() const { return letters_.size(); }
  bool at(std::size_t letter) const { return shown_[letter]; }
  bool separates(std::size_t letter) const {
    return letters_[letter].size() == 1 && std::string_view("/.:_").find(letters_[letter]) != std::string_view::npos;
  }
  std::size_t letter_of_byte(std::size_t byte) const {
    std::size_t letter = 0;
    for (std::size_t at = 0; letter + 1 < letters_.size() && at + letters_[letter].size() <= byte; ++letter) {
      at += letters_[letter].size();
    }
    return letter;
  }

  /// Shows one more letter, if `width` columns allow it.
  bool show(std::size_t letter, std::size_t width) {
    if (shown_[letter]) return false;
    shown_[letter] = true;
    if (display_width(text()) <= width) return true;
    shown_[letter] = false;
    return false;
  }

  /// What is left out between shown letters is worth its mark only if it is longer than that.
  std::string text() const {
    std::string all;
    for (std::size_t i = 0; i < letters_.size();) {
      std::size_t end = i;
      std::string hidden;
      while (end < letters_.size() && !shown_[end]) hidden += letters_[end++];
      all += display_width(hidden) > kLeftOut.size() ? std::string(kLeftOut) : hidden;
      if (end < letters_.size()) all += letters_[end];
      i = end + 1;
    }
    return all;
  }

 private:
  std::vector<std::string_view> letters_;
  std::vector<bool> shown_;
};

/// The letters that tell the name from the others, the last ones first, then as much around them as fits: words to
/// their end, then to their beginning, then what is left.
std::string telling(std::string_view name, const std::set<std::size_t>& places, std::size_t width) {
  Shown shown(name);
  for (auto place = places.rbegin(); place != places.rend(); ++place) shown.show(shown.letter_of_byte(*place), width);
  const auto grow = [&](bool forward, bool within_words) {
    for (bool grown = true; grown;) {
      grown = false;
      std::vector<std::size_t> next;
      for (std::size_t i = 0; i + 1 < shown.letters(); ++i) {
        const std::size_t from = forward ? i : i + 1, to = forward ? i + 1 : i;
        if (shown.at(from) && !shown.at(to) && !(within_words && shown.separates(to))) next.push_back(to);
      }
      for (auto letter = next.rbegin(); letter != next.rend(); ++letter) grown = shown.show(*letter, width) || grown;
    }
  };
  for (const bool within_words : {true, false}) {
    grow(/*forward=*/true, within_words);
    grow(/*forward=*/false, within_words);
  }
  return shown.text();
}

}  // namespace

CutNames cut_shared_ends(const std::vector<std::string>& names) {
  CutNames cut{shared_end(names, /*at_end=*/false), shared_end(names, /*at_end=*/true), {}};
  for (const std::string& name : names) {
    std::string_view rest = name;
    const bool starts = !cut.start.empty() && rest.size() > cut.start.size() && rest.starts_with(cut.start);
    if (starts) rest.remove_prefix(cut.start.size());
    const bool ends = !cut.end.empty() && rest.size() > cut.end.size() && rest.ends_with(cut.end);
    if (ends) rest.remove_suffix(cut.end.size());
    cut.names.push_back(std::string(starts ? kLeftOut : "") + std::string(rest) + std::string(ends ? kLeftOut : ""));
  }
  return cut;
}

std::vector<std::string> short_names(const std::vector<std::string>& names, std::size_t width) {
  std::vector<std::string> sorted = names;
  std::ranges::sort(sorted);
  const auto last = std::ranges::unique(sorted);
  sorted.erase(last.begin(), last.end());
  std::vector<std::string> shorts;
  for (const std::string& name : names) {
    if (display_width(name) <= width) {
      shorts.push_back(name);
      continue;
    }
    const auto place = std::ranges::lower_bound(sorted, name);
    const std::set<std::size_t> places = branches(sorted, static_cast<std::size_t>(place - sorted.begin()));
    const std::string text = places.empty() ? std::string() : telling(name, places, width);
    shorts.push_back(places.empty() || display_width(text) > width ? shorten_middle(name, width) : text);
  }
  return shorts;
}

}  // namespace vernier
