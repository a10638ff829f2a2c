// Names of a report's layers where there is little room: everywhere the same letters are left out.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "report/text/sections.h"
#include "vernier/report/diagnose.h"

namespace vernier {

class LayerNames {
 public:
  /// In at most `width` columns, without the ends that most names share (short_names.h); 64 columns, with these ends,
  /// where `options` ask for whole names.
  LayerNames(const DiagnoseReport& report, const TextOptions& options, std::size_t width);

  /// Of a layer that the report does not list, its own middle is left out.
  std::string of(const std::string& layer) const;

 private:
  std::size_t width_;
  std::map<std::string, std::string> shown_;
};

inline constexpr std::size_t kNameInSentence = 40;  // columns

}  // namespace vernier
