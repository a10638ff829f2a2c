// Text for a terminal: display widths, shortening, wrapping, aligned tables. Names in reports come from files that
// nobody checked; what is laid out here can neither move the cursor nor break a column.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace vernier {

/// Columns that valid UTF-8 `text` takes in a terminal: 2 for wide East Asian characters and emoji, 0 for combining
/// marks.
std::size_t display_width(std::string_view text);

/// `text` in at most `width` columns, the middle replaced by "..": both ends of a layer's name tell it from its
/// siblings. Edges: a width below 4 cuts the end off.
std::string shorten_middle(std::string_view text, std::size_t width);

/// Takes the next word off `text`, up to a space; empty at its end. A figure and its unit are one word: "20 dB", "90
/// %".
std::string_view take_word(std::string_view& text);

/// Breaks `text` between words (take_word) into lines of at most `width` columns; a word longer than a line is cut,
/// behind one of
/// "/;:_.," where it can be, and not lost. The first line starts with `first`, the others with as many spaces, or with
/// four where that would be more than a quarter of the line. Ends with a newline.
std::string wrap(std::string_view text, std::size_t width, std::string_view first = {});

enum class Align { Left, Right };

/// Rows of cells under headings, columns separated by two spaces.
class Table {
 public:
  /// Adds a column whose cells stay whole. `short_heading` serves where the table would not fit otherwise.
  void column(std::string heading, Align align, std::string short_heading = {});
  /// Adds a left-aligned column of names, which are shortened until the table fits.
  void flexible_column(std::string heading);
  /// The column that was added last is left out after all others.
  void stays();
  /// The column that was added last and the one before it say nothing alone: one is left out with the other.
  void goes_with_the_one_before();
  /// Errors: Internal if the number of cells is not that of the columns.
  void row(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  /// All lines, indented by two spaces; trailing spaces are cut. Columns whose cells are all empty are left out. Unless
  /// `whole` cells are asked for, names in the flexible columns lose the beginning and the end that most share, which a
  /// line under the table shows. If lines are longer than `width`, short headings are used; then, unless `whole`, the
  /// flexible columns shrink, from the right, down to 20; then columns with a heading are left out, from the right, and
  /// a last line names them; then flexible columns shrink to 8. Names that differ stay distinct (short_names.h).
  /// `whole` cells of flexible columns have at most 64 columns.
  std::string text(std::size_t width, bool whole = false) const;
  /// Whether text() shows the column of that heading.
  bool shows(const std::string& heading, std::size_t width, bool whole = false) const;

 private:
  struct Column {
    std::string heading;
    std::string short_heading;
    Align align;
    bool flexible = false;
    bool stays = false;
    bool joined = false;  // with the column before
  };
  struct Laid {
    std::string text;
    std::vector<std::string> headings;  // of the columns that it has
  };
  Laid laid_out(std::size_t width, bool whole) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

enum class Paint { Bold, Good, Bad, Warning };

/// `text` in colour when `color` is set. Applied to whole lines after layout, so that widths hold.
std::string painted(std::string_view text, Paint paint, bool color);

}  // namespace vernier
