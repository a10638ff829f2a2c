#include "jobs/run/error_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "base/file.h"
#include "jobs/run/file_part.h"
#include "vernier/report/error_picture.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

const NamedTensor* find(const Iteration& iteration, const std::string& name) {
  const auto found = std::find_if(iteration.outputs.begin(), iteration.outputs.end(),
                                  [&](const NamedTensor& output) { return output.name == name; });
  return found == iteration.outputs.end() ? nullptr : &*found;
}

}  // namespace

bool wants_pictures(const RunOptions& options) {
  return options.show_heatmaps || options.show_error_plots || !options.save_heatmaps.empty() ||
         !options.save_error_plots.empty();
}

void draw_errors(const RunOptions& options, std::size_t pair, const IterationComparison& comparison,
                 const Iteration& got, const Iteration& ref, const RunEvents& events) {
  const auto draw = [&](ErrorPicture::Kind kind, const std::filesystem::path& folder, bool shown,
                        const OutputComparison& output) {
    if (folder.empty() && !shown) return;
    const NamedTensor* const one = find(got, output.output);
    const NamedTensor* const other = find(ref, output.reference);
    if (one == nullptr || other == nullptr || output.shape != output.reference_shape || dtype_bits(output.dtype) == 0 ||
        dtype_bits(output.reference_dtype) == 0) {
      return;
    }
    const ErrorPicture picture = error_picture(kind, *one, *other);
    if (!folder.empty()) {
      replace_file(
          folder / fmt::format("{}.pair{}.iteration{}.svg", file_part(output.output), pair, comparison.iteration),
          picture_to_svg(picture));
    }
    if (shown && events) events(PictureShown{picture});
  };
  for (const OutputComparison& output : comparison.outputs) {
    draw(ErrorPicture::Kind::Heatmap, options.save_heatmaps, options.show_heatmaps, output);
    draw(ErrorPicture::Kind::ErrorPlot, options.save_error_plots, options.show_error_plots, output);
  }
}

}  // namespace vernier
