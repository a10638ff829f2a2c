#include "base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/utf8.h"

namespace vernier {
namespace {

// Letters put in, left out, replaced, or swapped with their neighbour: one edit each (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before;  // the row of a[0..i-2)
  std::vector<std::size_t> above(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1, i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = std::exchange(above, std::move(row));
  }
  return above.back();
}

// Matches one [set] at pattern[at] == '['. Returns the index behind ']' or npos when the set is not closed.
std::size_t match_set(std::string_view pattern, std::size_t at, char c, bool& matched) {
  std::size_t i = at + 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  bool inside = false;
  for (bool first = true; i < pattern.size() && (first || pattern[i] != ']'); ++i, first = false) {
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      inside = inside || (pattern[i] <= c && c <= pattern[i + 2]);
      i += 2;
    } else {
      inside = inside || pattern[i] == c;
    }
  }
  if (i >= pattern.size()) return std::string_view::npos;
  matched = inside != negated;
  return i + 1;
}

std::string visible(std::string_view name, bool marks_stay) {
  std::string text;
  for (std::size_t at = 0; at < name.size();) {
    const CodePoint point = code_point(name, at);
    const bool mark = point.value == 0x2039 || point.value == 0x203A;
    if ((mark && !marks_stay) || (treacherous(point) && point.value >= 0xA0)) {
      text += fmt::format("\\u{{{:04X}}}", point.value);
    } else if (point.value < 0 || treacherous(point)) {
      for (std::size_t k = 0; k < point.bytes; ++k) {
        text += fmt::format("\\x{:02x}", static_cast<unsigned char>(name[at + k]));
      }
    } else {
      text.append(name.substr(at, point.bytes));
    }
    at += point.bytes;
  }
  return text;
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view wanted, std::span<const std::string> names, std::size_t limit) {
  std::vector<std::tuple<bool, std::size_t, std::string>> ranked;
  for (const std::string& name : names) {
    // Very long names come from hostile files; the quadratic distance is not worth their time.
    if (name.size() > 512 || wanted.size() > 512) continue;
    const std::size_t distance = edit_distance(wanted, name);
    const std::size_t at =
        wanted.size() < 3 ? std::string::npos : lower_case(name).find(lower_case(std::string(wanted)));
    if (at == std::string::npos && distance > std::max<std::size_t>(2, wanted.size() / 2)) continue;
    ranked.emplace_back(at != 0, distance, name);
  }
  std::sort(ranked.begin(), ranked.end());
  ranked.erase(std::unique(ranked.begin(), ranked.end()), ranked.end());
  std::vector<std::string> nearest;
  for (std::size_t i = 0; i < std::min(limit, ranked.size()); ++i) nearest.push_back(std::get<std::string>(ranked[i]));
  return nearest;
}

bool contains(std::span<const std::string> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool wildcard_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
      continue;
    }
    bool matched = false;
    std::size_t next = p + 1;
    if (p < pattern.size()) {
      if (pattern[p] == '?') {
        matched = true;
      } else if (pattern[p] == '[') {
        next = match_set(pattern, p, text[t], matched);
        if (next == std::string_view::npos) {  // an unclosed set is an ordinary character
          next = p + 1;
          matched = text[t] == '[';
        }
      } else {
        matched = pattern[p] == text[t];
      }
    }
    if (matched) {
      p = next;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string printable(std::string_view name) { return visible(name, /*marks_stay=*/false); }
std::string printable_text(std::string_view text) { return visible(text, /*marks_stay=*/true); }

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

std::string last_line(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \r\n\t");
  if (end == std::string_view::npos) return "";
  text = text.substr(0, end + 1);
  return std::string(text.substr(text.find_last_of('\n') + 1));  // where there is none, behind npos: from 0
}

std::string lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::string plural(std::size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string list_some(std::span<const std::string> names, std::size_t limit) {
  const std::size_t listed = names.size() > limit + 1 ? limit : names.size();
  std::string text;
  for (std::size_t i = 0; i < listed; ++i) {
    if (i > 0) text += ", ";
    text += printable(names[i]);
  }
  if (names.size() > listed) text += fmt::format(" and {} more", names.size() - listed);
  return text;
}

std::string tuple_text(const Shape& shape) {
  return shape.size() == 1 ? fmt::format("({},)", shape[0]) : fmt::format("({})", fmt::join(shape, ", "));
}

std::string place_text(std::int64_t at, const Shape& shape) {
  Shape place(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const std::int64_t size = std::max<std::int64_t>(shape[axis], 1);
    place[axis] = at % size;
    at /= size;
  }
  return tuple_text(place);
}

}  // namespace vernier
