// The jobs. Each gives what it found as JSON and as the text that the command prints, and models as models.
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <vector>

#include "calls.h"
#include "parts.h"
#include "vernier/bench.h"
#include "vernier/calibrate.h"
#include "vernier/check_data.h"
#include "vernier/check_placement.h"
#include "vernier/data_diff.h"
#include "vernier/debug_loss.h"
#include "vernier/diagnose.h"
#include "vernier/doctor.h"
#include "vernier/eval.h"
#include "vernier/fix.h"
#include "vernier/inspect.h"
#include "vernier/inspect_engine.h"
#include "vernier/lint.h"
#include "vernier/quantize.h"
#include "vernier/report/bench.h"
#include "vernier/report/calibrate.h"
#include "vernier/report/check_data.h"
#include "vernier/report/check_placement.h"
#include "vernier/report/data_diff.h"
#include "vernier/report/debug_loss.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/doctor.h"
#include "vernier/report/engine.h"
#include "vernier/report/eval.h"
#include "vernier/report/inspect.h"
#include "vernier/report/lint.h"
#include "vernier/report/quantize.h"
#include "vernier/report/text.h"
#include "vernier/report/typed.h"
#include "vernier/report/verify.h"
#include "vernier/verify.h"
#include "words.h"

namespace nb = nanobind;

namespace vernier::python {
namespace {

const nb::arg kListener = [] {
  nb::arg listener("listener");
  listener.none();
  return listener;
}();

/// (JSON, text, model or None, plan)
nb::object told(const std::string& json, const std::string& text, const std::optional<TypedReport>& typed = {}) {
  nb::object model = nb::none();
  std::string plan;
  if (typed && !typed->model.empty()) {
    model = nb::cast(typed->model);
    plan = typed->plan;
  }
  return nb::make_tuple(json, text, model, plan);
}

nb::object told(const DiagnoseReport& report) {
  return told(report_to_json(report), report_to_text(report, {}), report.typed);
}

template <class Options, class Report>
auto job(Report (*run)(const Options&, const JobSinks&)) {
  return [run](const Options& options, const nb::object& listener) {
    const Report report = call_for(listener, [&](const JobSinks& sinks) { return run(options, sinks); });
    return told(report_to_json(report), report_to_text(report, {}));
  };
}

template <class Options>
auto diagnosis(DiagnoseReport (*run)(const Options&, const JobSinks&)) {
  return [run](const Options& options, const nb::object& listener) {
    std::optional<DiagnoseReport> report;
    try {
      call(listener, [&](const JobSinks& sinks) {
        try {
          report = run(options, sinks);
        } catch (const DiagnosisInterrupted& interrupted) {
          report = interrupted.report();
          throw;
        }
      });
    } catch (nb::python_error& error) {
      if (report && error.matches(PyExc_KeyboardInterrupt)) {
        report->interrupted = true;
        error.value().attr("report") = told(*report);
      }
      throw;
    }
    return told(*report);
  };
}

}  // namespace

void add_jobs(nb::module_& module) {
  module.def("repair_names", [] {
    std::vector<std::string> ids;
    for (const RepairName& name : repair_names()) ids.push_back(name.id);
    return ids;
  });
  module.def("diagnose", diagnosis(&diagnose), nb::arg(), kListener);
  module.def("search_precision", diagnosis(&search_precision), nb::arg(), kListener);
  module.def("fix", diagnosis(&fix), nb::arg(), kListener);
  module.def("verify", job(&verify), nb::arg(), kListener);
  module.def("calibrate", job(&calibrate), nb::arg(), kListener);
  module.def("check_data", job(&check_data), nb::arg(), kListener);
  module.def("evaluate", job(&evaluate), nb::arg(), kListener);
  module.def("inspect_engine", job(&inspect_engine), nb::arg(), kListener);
  module.def("compare", job(&compare), nb::arg(), kListener);
  module.def(
      "bench",
      [](const BenchOptions& options, const nb::object& listener) {
        const BenchReport report = call_for(listener, [&](const JobSinks& sinks) { return bench(options, sinks); });
        return told(report_to_json(report), report_to_text(report, {}));
      },
      nb::arg(), kListener);
  module.def("debug_loss", job(&debug_loss), nb::arg(), kListener);
  module.def(
      "quantize",
      [](const QuantizeOptions& options, const nb::object& listener) {
        const QuantizeResult result =
            call_for(listener, [&](const JobSinks& sinks) { return quantize(options, sinks); });
        return told(result_to_json(result), result_to_text(result, {}), result.typed);
      },
      nb::arg(), kListener);
  module.def("inspect_model", [](const OnnxModel& model, bool nodes, bool weights) {
    InspectOptions options;
    options.model = model;
    options.nodes = nodes;
    options.weights = weights;
    ModelInspection report;
    {
      const nb::gil_scoped_release released;
      report = inspect_model(options);
    }
    return told(report_to_json(report), report_to_text(report));
  });
  module.def(
      "lint",
      [](const OnnxModel& model, const nb::object& listener) {
        LintOptions options;
        options.model = model;
        const LintReport report = call_for(listener, [&](const JobSinks& sinks) { return lint(options, sinks); });
        return told(report_to_json(report), report_to_text(report, {}));
      },
      nb::arg(), kListener);
  module.def(
      "check_placement",
      [](const OnnxModel& model, Target target, const nb::object& listener) {
        CheckPlacementOptions options;
        options.model = model;
        options.target = target;
        const CheckPlacementReport report =
            call_for(listener, [&](const JobSinks& sinks) { return check_placement(options, sinks); });
        return told(report_to_json(report), report_to_text(report, {}));
      },
      nb::arg(), nb::arg(), kListener);
}

}  // namespace vernier::python
