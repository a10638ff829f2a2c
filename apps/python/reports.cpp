// Reports of diagnose() and fix() from their JSON to other forms.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <string>

#include "parts.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/kind.h"
#include "vernier/report/outcome.h"
#include "vernier/report/text.h"
#include "words.h"

namespace nb = nanobind;

namespace vernier::python {
namespace {

constexpr const char* kWhere = "report";

}  // namespace

void add_reports(nb::module_& module) {
  module.def("report_kind", [](const std::string& json) { return report_kind(json, kWhere); });
  module.def("report_text", [](const std::string& json, std::size_t width, std::size_t top) {
    TextOptions options;
    options.width = width;
    options.top = top;
    return report_to_text(diagnose_report_from_json(json, kWhere), options);
  });
  // The document as this version writes it.
  module.def("report_json",
             [](const std::string& json) { return report_to_json(diagnose_report_from_json(json, kWhere)); });
  // 0: met, or nothing was asked for; 1: missed.
  module.def("outcome", [](const std::string& json) { return exit_code_of(diagnose_report_from_json(json, kWhere)); });
  module.def("report_page",
             [](const std::string& json) { return report_to_html(diagnose_report_from_json(json, kWhere)); });
  module.def("deploy_markdown",
             [](const std::string& json) { return deploy_markdown(diagnose_report_from_json(json, kWhere)); });
}

}  // namespace vernier::python
