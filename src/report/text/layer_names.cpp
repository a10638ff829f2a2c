#include "report/text/layer_names.h"

#include <vector>

#include "base/layout.h"
#include "base/short_names.h"
#include "base/text.h"

namespace vernier {
namespace {

constexpr std::size_t kWholeName = 64;  // columns

}  // namespace

LayerNames::LayerNames(const DiagnoseReport& report, const TextOptions& options, std::size_t width)
    : width_(options.whole_names ? kWholeName : width) {
  std::vector<std::string> names;
  for (const LayerRow& row : report.layers) names.push_back(printable(row.name));
  const std::vector<std::string> cut = short_names(options.whole_names ? names : cut_shared_ends(names).names, width_);
  for (std::size_t i = 0; i < names.size(); ++i) {
    shown_[report.layers[i].name] = display_width(names[i]) > width_ ? cut[i] : names[i];
  }
}

std::string LayerNames::of(const std::string& layer) const {
  const auto known = shown_.find(layer);
  return known == shown_.end() ? shorten_middle(printable(layer), width_) : known->second;
}

}  // namespace vernier
