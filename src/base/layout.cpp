#include "base/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "base/short_names.h"
#include "base/text.h"
#include "base/utf8.h"
#include "vernier/error.h"

namespace vernier {
namespace {

/// Bytes of the longest prefix of at most `width` columns.
std::size_t prefix(std::string_view text, std::size_t width) {
  std::size_t used = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const CodePoint point = code_point(text, at);
    used += columns_of(point);
    if (used > width) break;
    at += point.bytes;
  }
  return at;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// What stands behind a figure, perhaps with the punctuation of its sentence: "dB," "%)".
bool is_unit(std::string_view word) {
  static constexpr std::array<std::string_view, 18> kUnits{
      "%", "dB", "ms", "us", "s", "min", "h", "d", "k", "M", "G", "B", "kB", "MB", "GB", "points", "bits", "times"};
  return std::ranges::find(kUnits, word.substr(0, word.find_last_not_of(".,:;)?") + 1)) != kUnits.end();
}

std::string pad(std::string_view text, std::size_t width, Align align) {
  const std::size_t used = display_width(text);
  const std::string space(used < width ? width - used : 0, ' ');
  return align == Align::Left ? std::string(text) + space : space + std::string(text);
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = code_point(text, at);
    width += columns_of(point);
    at += point.bytes;
  }
  return width;
}

std::string shorten_middle(std::string_view text, std::size_t width) {
  const std::size_t total = display_width(text);
  if (total <= width) return std::string(text);
  if (width < 4) return std::string(text.substr(0, prefix(text, width)));
  const std::size_t head = (width - 2) / 2;
  const std::size_t tail = width - 2 - head;
  // The end that fits: drop characters from the front until it does.
  std::size_t start = 0;
  for (std::size_t left = total; left > tail;) {
    const CodePoint point = code_point(text, start);
    left -= columns_of(point);
    start += point.bytes;
  }
  return std::string(text.substr(0, prefix(text, head))) + ".." + std::string(text.substr(start));
}

std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  std::size_t end = std::min(text.find(' '), text.size());
  if (end > 0 && end < text.size() && is_digit(text[end - 1])) {
    const std::size_t next = std::min(text.find(' ', end + 1), text.size());
    if (is_unit(text.substr(end + 1, next - end - 1))) end = next;
  }
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

std::string wrap(std::string_view text, std::size_t width, std::string_view first) {
  constexpr std::size_t kNarrowLabel = 16, kAfterWideLabel = 4;
  const std::size_t label = display_width(first);
  const bool wide = label > std::max(kNarrowLabel, width / 4);
  const std::string indent(wide ? kAfterWideLabel : label, ' ');
  const auto room_behind = [&](std::size_t taken) {
    return std::max<std::size_t>(width > taken ? width - taken : 0, 10);
  };
  std::size_t room = room_behind(label);
  std::string out(first);
  std::size_t used = 0;
  const auto new_line = [&] {
    out += '\n' + indent;
    used = 0;
    room = room_behind(indent.size());
  };
  for (std::string_view word = take_word(text); !word.empty(); word = take_word(text)) {
    if (used > 0 && used + 1 + display_width(word) > room) {
      new_line();
    } else if (used > 0) {
      out += ' ';
      ++used;
    }
    while (display_width(word) > room) {
      std::size_t cut = std::max<std::size_t>(prefix(word, room), 1);
      const std::size_t mark = word.substr(0, cut).find_last_of("/;:_.,");
      if (mark != std::string_view::npos && mark >= cut / 2) cut = mark + 1;
      out += word.substr(0, cut);
      word.remove_prefix(cut);
      new_line();
    }
    out += word;
    used += display_width(word);
  }
  return out + '\n';
}

void Table::column(std::string heading, Align align, std::string short_heading) {
  if (short_heading.empty()) short_heading = heading;
  columns_.push_back({std::move(heading), std::move(short_heading), align});
}

void Table::flexible_column(std::string heading) {
  columns_.push_back({heading, heading, Align::Left, /*flexible=*/true});
}

void Table::stays() { columns_.back().stays = true; }

void Table::goes_with_the_one_before() { columns_.back().joined = true; }

std::string Table::text(std::size_t width, bool whole) const { return laid_out(width, whole).text; }

bool Table::shows(const std::string& heading, std::size_t width, bool whole) const {
  const std::vector<std::string> headings = laid_out(width, whole).headings;
  return std::ranges::find(headings, heading) != headings.end();
}

void Table::row(std::vector<std::string> cells) {
  if (cells.size() != columns_.size()) {
    throw Error(ErrorKind::Internal,
                fmt::format("a table of {} columns got a row of {} cells", columns_.size(), cells.size()));
  }
  rows_.push_back(std::move(cells));
}

Table::Laid Table::laid_out(std::size_t width, bool whole) const {
  constexpr std::size_t kReadable = 20, kNarrowest = 8, kWholeName = 64;
  std::vector<std::vector<std::string>> cells(columns_.size());
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    for (const auto& row : rows_) cells[c].push_back(row[c]);
  }
  const auto widest = [&](std::size_t c) {
    std::size_t most = 0;
    for (const std::string& cell : cells[c]) most = std::max(most, display_width(cell));
    return most;
  };
  std::vector<std::size_t> used_columns;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (widest(c) > 0) used_columns.push_back(c);
  }
  std::string below;
  if (!whole) {
    for (const std::size_t c : used_columns) {
      if (!columns_[c].flexible) continue;
      const CutNames cut = cut_shared_ends(cells[c]);
      if (cut.start.empty() && cut.end.empty()) continue;
      cells[c] = cut.names;
      below += wrap(
          fmt::format("'..' stands for {}{}{}{}{}", cut.start, cut.start.empty() ? "" : " in front",
                      cut.start.empty() || cut.end.empty() ? "" : ", ", cut.end, cut.end.empty() ? "" : " at the end"),
          width, "  ");
    }
  }
  std::vector<std::size_t> widths(columns_.size(), 0);
  bool brief = false;
  const auto heading = [&](std::size_t c) -> const std::string& {
    return brief ? columns_[c].short_heading : columns_[c].heading;
  };
  const auto fit_headings = [&] {
    for (const std::size_t c : used_columns) widths[c] = std::max(widest(c), display_width(heading(c)));
    return std::accumulate(used_columns.begin(), used_columns.end(), std::size_t{0},
                           [&](std::size_t sum, std::size_t c) { return sum + 2 + widths[c]; });
  };
  std::size_t total = fit_headings();
  brief = total > width && !whole;
  if (brief) total = fit_headings();
  const auto shorten = [&](std::size_t least) {
    for (auto c = used_columns.rbegin(); c != used_columns.rend() && total > width; ++c) {
      if (!columns_[*c].flexible || widths[*c] <= least) continue;
      const std::size_t narrower = std::min(widths[*c] - least, total - width);
      widths[*c] -= narrower;
      total -= narrower;
    }
  };
  std::vector<std::string> left_out;
  if (!whole) {
    shorten(kReadable);
    // What is still too wide would wrap, and no column could be followed: the last ones go, which say the least. Those
    // without a heading mark rows, and stay.
    while (total > width && used_columns.size() > 2) {
      const auto end = used_columns.rend() - 2;
      auto last = std::find_if(used_columns.rbegin(), end,
                               [&](std::size_t c) { return !columns_[c].heading.empty() && !columns_[c].stays; });
      if (last == end) {
        last = std::find_if(used_columns.rbegin(), end, [&](std::size_t c) { return !columns_[c].heading.empty(); });
      }
      if (last == end) break;
      const std::size_t gone = *last;
      std::erase_if(used_columns, [&](std::size_t c) {
        const bool goes =
            c == gone || (c + 1 == gone && columns_[gone].joined) || (c == gone + 1 && columns_[c].joined);
        if (goes) left_out.push_back(columns_[c].heading);
        return goes;
      });
      total = fit_headings();
      shorten(kReadable);
    }
    shorten(kNarrowest);
    std::ranges::sort(left_out, {}, [&](const std::string& name) {
      return std::ranges::find(columns_, name, &Column::heading) - columns_.begin();
    });
  }
  bool shortened = false;
  for (const std::size_t c : used_columns) {
    if (!columns_[c].flexible) continue;
    if (whole) {  // sentences stay whole
      widths[c] = display_width(columns_[c].heading);
      for (const std::string& cell : cells[c]) {
        const std::size_t most = cell.find(' ') == std::string::npos ? kWholeName : display_width(cell);
        widths[c] = std::max(widths[c], std::min(display_width(cell), most));
      }
    }
    shortened = shortened || widest(c) > widths[c];
    cells[c] = short_names(cells[c], widths[c]);
  }
  if (shortened) {
    const std::string where = below.empty() ? "" : "inside a name ";
    below += wrap(fmt::format("'..' {}stands for letters that were left out", where), width, "  ");
  }
  Laid laid;
  for (const std::size_t c : used_columns) laid.headings.push_back(columns_[c].heading);
  std::string& text = laid.text;
  const auto line = [&](const auto& cell_of) {
    std::string out;
    for (const std::size_t c : used_columns) {
      out += "  " + pad(shorten_middle(cell_of(c), widths[c]), widths[c], columns_[c].align);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    text += out + '\n';
  };
  line(heading);
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    line([&](std::size_t c) -> const std::string& { return cells[c][r]; });
  }
  text += below;
  if (!left_out.empty()) {
    text += wrap(fmt::format("not shown, too narrow: {}", fmt::join(left_out, ", ")), width, "  ");
  }
  return laid;
}

std::string painted(std::string_view text, Paint paint, bool color) {
  if (!color) return std::string(text);
  const char* code = paint == Paint::Good      ? "1;32"
                     : paint == Paint::Bad     ? "1;31"
                     : paint == Paint::Warning ? "33"
                                               : "1";
  const bool newline = !text.empty() && text.back() == '\n';
  return fmt::format("\x1b[{}m{}\x1b[0m{}", code, text.substr(0, text.size() - (newline ? 1 : 0)), newline ? "\n" : "");
}

}  // namespace vernier
