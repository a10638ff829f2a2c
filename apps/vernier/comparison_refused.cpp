#include <fmt/format.h>

#include "comparison_options.h"
#include "vernier/error.h"

namespace vernier::cli {
namespace {

constexpr int kMostValues = 1 << 20;

/// Options of the peer that have no counterpart yet: said so when they are given.
struct Refused {
  const char* name;
  bool takes_value;
  const char* reason;
  const char* instead;
};
constexpr Refused kRefused[] = {
    {"--compare-func-script", true, "comparison scripts are not run yet",
     "--compare with one or more of its functions, or --save-outputs and a script of your own"},
    {"--postprocess-func-script", true, "postprocessing scripts are not run yet", "--postprocess top-K[,axis=A]"},
    {"--save-heatmaps", true, "there are no plots yet", "the histograms, and the place of the largest error"},
    {"--show-heatmaps", false, "there are no plots yet", "the histograms, and the place of the largest error"},
    {"--save-error-metrics-plot", true, "there are no plots yet", "the histograms; -v prints them for all outputs"},
    {"--show-error-metrics-plot", false, "there are no plots yet", "the histograms; -v prints them for all outputs"},
    {"--lpips-threshold", true, "LPIPS needs a network of its own, and there is none here", "--compare psnr or sqnr"},
    {"--lpips-tolerance", true, "LPIPS needs a network of its own, and there is none here", "--compare psnr or sqnr"},
};

}  // namespace

void add_refused_comparison_options(CLI::App& app) {
  for (const Refused& row : kRefused) {
    const auto refuse = [&row] {
      throw Error(ErrorKind::Usage, fmt::format("{}: {}", row.name, row.reason), row.instead);
    };
    CLI::Option* option = nullptr;
    if (row.takes_value) {
      option = app.add_option(row.name, [refuse](const CLI::results_t&) -> bool {
        refuse();
        return true;
      });
      option->expected(0, kMostValues);
    } else {
      option = app.add_flag_callback(row.name, refuse);
    }
    option->group("");
  }
}

}  // namespace vernier::cli
