// The report of `vernier inspect capability` as JSON.
#include <string>
#include <tuple>

#include "report/json/document.h"
#include "vernier/report/capability.h"
#include "vernier/report/note_text.h"

namespace vernier {

template <>
struct Fields<CapabilityGroup> {
  using R = CapabilityGroup;
  static constexpr auto list =
      std::tuple{Field{"operator", &R::op_type}, Prose{"why", &R::why}, Field{"nodes", &R::nodes}};
};

template <>
struct Fields<CapabilityPart> {
  using R = CapabilityPart;
  static constexpr bool (*written)(const R&) = [](const R& part) { return !part.file.empty(); };
  static constexpr auto list =
      std::tuple{Field{"taken", &R::taken}, Field{"nodes", &R::nodes}, Field{"file", &R::file, written}};
};

template <>
struct Fields<CapabilityReport> {
  using R = CapabilityReport;
  static constexpr auto list = std::tuple{Field{"version", &R::version},
                                          Field{"file", &R::file},
                                          Field{"target", &R::target},
                                          Field{"engine", &R::engine},
                                          Field{"evidence", &R::evidence},
                                          Field{"source", &R::source},
                                          Field{"nodes", &R::nodes},
                                          Field{"inner_nodes", &R::inner_nodes},
                                          Field{"taken", &R::taken},
                                          Field{"not_taken", &R::refused},
                                          Field{"conditions", &R::conditions},
                                          Field{"parts", &R::parts},
                                          Prose{"differences", &R::differences},
                                          Remarks{"notes", "note_codes", &R::notes, note_texts}};
};

std::string report_to_json(const CapabilityReport& report) {
  return to_document(ReportKind::InspectCapability, report);
}

}  // namespace vernier
