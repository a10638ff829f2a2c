#include <fmt/format.h>

#include <span>
#include <string>
#include <vector>

#include "options/comparison_options.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier::cli {
namespace {

/// Options of the peer that have no counterpart yet: said so when they are given.
struct Refused {
  const char* name;
  bool takes_value;
  const char* reason;
  const char* instead;
};
constexpr Refused kRefused[] = {
    {"--lpips-threshold", true, "LPIPS needs its own network, which vernier does not have", "--compare psnr or sqnr"},
    {"--lpips-tolerance", true, "LPIPS needs its own network, which vernier does not have", "--compare psnr or sqnr"},
};

constexpr const char* kNoOutputs = "the file holds figures, not outputs";
constexpr const char* kRunAgain = "vernier run --load-outputs A B, with this option";
constexpr Refused kRefusedForRecord[] = {
    {"--save-heatmaps", true, kNoOutputs, kRunAgain},
    {"--show-heatmaps", false, kNoOutputs, kRunAgain},
    {"--save-error-metrics-plot", true, kNoOutputs, kRunAgain},
    {"--show-error-metrics-plot", false, kNoOutputs, kRunAgain},
    {"--compare-func-script", true, kNoOutputs, kRunAgain},
    {"--postprocess-func-script", true, kNoOutputs, kRunAgain},
};

void add_refused(CLI::App& app, std::span<const Refused> rows) {
  for (const Refused& row : rows) {
    const auto refuse = [&row] {
      throw Error(ErrorCode::NotSupported, fmt::format("{}: {}", row.name, row.reason), row.instead);
    };
    Option option =
        row.takes_value
            ? add_values(app, row.name, [refuse](const std::vector<std::string>&) { refuse(); }).values(0, kMostValues)
            : add_flag(app, row.name, refuse);
    option.group("");
  }
}

}  // namespace

void add_refused_comparison_options(CLI::App& app) { add_refused(app, kRefused); }

void add_options_refused_for_record(CLI::App& app) { add_refused(app, kRefusedForRecord); }

}  // namespace vernier::cli
