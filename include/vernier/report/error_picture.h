// Where in a tensor two runs differ, and how errors go with values, as pictures: what the peer draws with
// --save-heatmaps and --save-error-metrics-plot.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "vernier/export.h"
#include "vernier/runs.h"

namespace vernier {

/// A grid of cells. Values that are not finite are left out.
struct ErrorPicture {
  enum class Kind {
    Heatmap,    // |got - ref| where it is: columns are the last axis, rows all others; a cell holds the largest in it
    ErrorPlot,  // how many elements have that |ref| (columns) and that |got - ref| (rows, small ones below), both in
                // powers of ten; equal elements lie in the lowest row
  };
  Kind kind = Kind::Heatmap;
  std::string title;
  std::size_t rows = 0, columns = 0;
  std::vector<double> cells;  // row by row, the top one first
  double largest = 0;         // of all cells
  std::string x_from, x_to, y_from, y_to;
};

/// Errors: Usage when the tensors differ in shape or are no numbers. Cost: two passes.
VERNIER_API ErrorPicture error_picture(ErrorPicture::Kind kind, const NamedTensor& got, const NamedTensor& ref);

/// One self-contained SVG document.
VERNIER_API std::string picture_to_svg(const ErrorPicture& picture);
/// For terminals: at most 16 lines of 64 letters, from ' ' (nothing) to '@' (the largest).
VERNIER_API std::string picture_to_text(const ErrorPicture& picture);

}  // namespace vernier
