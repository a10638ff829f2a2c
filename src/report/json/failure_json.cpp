// A job that ended with an error as JSON.
#include <string>
#include <tuple>

#include "json/json.h"
#include "report/json/document.h"
#include "report/json/kind_schema.h"
#include "vernier/report/failure.h"
#include "vernier/report/kind.h"
#include "vernier/report/schema.h"

namespace vernier {

template <>
struct Fields<FailureReport> {
  using R = FailureReport;
  static constexpr auto list =
      std::tuple{Field{"version", &R::version},     Field{"outcome", &R::outcome}, Field{"code", &R::code},
                 Field{"exit_code", &R::exit_code}, Prose{"message", &R::message}, Prose{"hint", &R::hint}};
};

std::string error_schema() {
  return json_text(kind_schema<FailureReport>(ReportKind::Failure,
                                              "Printed with --json by every command that ends with an error.", "error"),
                   kPrettyJson) +
         "\n";
}

std::string report_to_json(const FailureReport& report) { return to_document(ReportKind::Failure, report); }

}  // namespace vernier
