// The page of `vernier pipeline`.
#include <fmt/format.h>

#include <string>

#include "base/text.h"
#include "report/html/page.h"
#include "report/html/parts.h"
#include "report/html/words.h"
#include "report/json/document.h"
#include "report/text/numbers.h"
#include "report/told.h"
#include "vernier/report/pipeline.h"
#include "vernier/report/text.h"

namespace vernier {

std::string report_to_html(const PipelineReport& report) {
  const Json data = Json::Object{{"report", document_of(report)}};
  TextOptions plain;
  plain.whole_names = true;
  std::string way;
  for (const StageReport& stage : report.stages) way += (way.empty() ? "" : " \u2192 ") + printable(stage.name);
  const auto [headline, further] = first_sentence(told(report.answer));
  return filled_page({{"version", html_text(printable(report.vernier_version))},
                      {"brand", "vernier pipeline"},
                      {"title", html_text(fmt::format("Stages: {}", way))},
                      {"model", html_text(fmt::format("{}, over {}", way, plural(report.samples, "sample")))},
                      {"outcome", report.lost_at ? "missed" : "met"},
                      {"verdict", report.lost_at ? "\u2715 Accuracy is lost" : "\u2713 All stages are good"},
                      {"answer", html_text(headline)},
                      {"further", html_text(further)},
                      {"text", html_text(report_to_text(report, plain))},
                      {"style", std::string(page_style())},
                      {"data", json_in_html(data)},
                      {"script", stages_script()}});
}

}  // namespace vernier
