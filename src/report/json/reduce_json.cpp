// The report of `vernier debug reduce` as JSON.
#include <string>
#include <tuple>

#include "report/json/document.h"
#include "vernier/report/note_text.h"
#include "vernier/report/reduce.h"

namespace vernier {

template <>
struct Fields<ReduceReport> {
  using R = ReduceReport;
  static constexpr auto list = std::tuple{Field{"version", &R::version},
                                          Field{"command", &R::command},
                                          Field{"model", &R::model_file},
                                          Field{"mode", &R::mode},
                                          Field{"check", &R::check},
                                          Field{"reproduced", &R::reproduced},
                                          Field{"not_judged", &R::not_judged},
                                          Field{"minimal", &R::minimal},
                                          Field{"unjudged", &R::unjudged},
                                          Field{"repeated", &R::repeated},
                                          Field{"unstable", &R::unstable},
                                          Field{"output", &R::output},
                                          Field{"min_good", &R::min_good},
                                          Field{"nodes_before", &R::nodes_before},
                                          Field{"nodes_after", &R::nodes_after},
                                          Field{"nodes_good", &R::nodes_good},
                                          Field{"nodes", &R::nodes},
                                          Field{"inputs", &R::inputs},
                                          Field{"outputs", &R::outputs},
                                          Field{"inputs_file", &R::inputs_file},
                                          Field{"outputs_file", &R::outputs_file},
                                          Field{"samples", &R::samples},
                                          Field{"frozen", &R::frozen},
                                          Field{"shrunk", &R::shrunk},
                                          Field{"checks", &R::checks},
                                          Field{"iterations", &R::iterations},
                                          Field{"invalid", &R::invalid},
                                          Field{"timed_out", &R::timed_out},
                                          Field{"sqnr_db", &R::sqnr_db},
                                          Field{"seconds", &R::seconds},
                                          Remarks{"warnings", "warning_codes", &R::warnings, note_texts}};
};

std::string report_to_json(const ReduceReport& report) { return to_document(ReportKind::DebugReduce, report); }

}  // namespace vernier
