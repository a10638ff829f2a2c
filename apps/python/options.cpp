// What jobs are asked with, under the names that it has in C++.
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "arrays.h"
#include "calls.h"
#include "parts.h"
#include "table/bench.h"
#include "table/diagnose.h"
#include "table/engine.h"
#include "table/entries.h"
#include "table/measure.h"
#include "table/precision.h"
#include "table/row.h"
#include "table/search.h"
#include "table/task.h"
#include "vernier/arithmetic.h"
#include "vernier/bench.h"
#include "vernier/calibrate.h"
#include "vernier/calibration.h"
#include "vernier/check_data.h"
#include "vernier/check_placement.h"
#include "vernier/debug_loss.h"
#include "vernier/diagnose.h"
#include "vernier/engine.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/eval.h"
#include "vernier/experiments.h"
#include "vernier/fix.h"
#include "vernier/inspect_engine.h"
#include "vernier/labels.h"
#include "vernier/measure.h"
#include "vernier/precision.h"
#include "vernier/quantization.h"
#include "vernier/quantize.h"
#include "vernier/requirement.h"
#include "vernier/samples.h"
#include "vernier/search_options.h"
#include "vernier/target.h"
#include "vernier/verify.h"
#include "words.h"

namespace nb = nanobind;

namespace vernier::python {
namespace {

nb::list listed(const std::vector<Sample>& samples) {
  nb::list all;
  for (const Sample& sample : samples) all.append(arrays_of(sample));
  return all;
}

/// function(outputs, references): lists of {name: array}
MetricFunction metric_of(nb::object function, std::string name, std::optional<double> min, std::optional<double> max) {
  const Held held = hold(std::move(function));
  MetricFunction metric;
  metric.function = [held](const std::vector<Sample>& outputs, const std::vector<Sample>& references) {
    const nb::gil_scoped_acquire acquired;
    return nb::cast<double>((*held)(listed(outputs), listed(references)));
  };
  metric.name = std::move(name);
  metric.min = min;
  metric.max = max;
  return metric;
}

/// The members of the rows that Python has arguments for, under the arguments' names.
template <class Class, class Options, class... Values>
void bind(Class& made, const table::Table<Options, Values...>& rows) {
  rows.each([&]<class Value>(const table::Row<Options, Value>& row) {
    if constexpr (!std::is_void_v<Value>) {
      if (*row.words.jobs != '\0') made.def_rw(row.words.argument, row.member);
    }
  });
}

template <class Options, class... Tables>
nb::class_<Options> of_table(nb::module_& module, const Tables&... tables) {
  const char* const name = std::get<0>(std::tie(tables...)).name;
  nb::class_<Options> made(module, name);
  made.def(nb::init<>());
  (bind(made, tables), ...);
  return made;
}

template <Worded Enum>
void add_words(nb::dict& all, const char* name) {
  nb::list words;
  for (const std::string_view word : words_of(Enum{})) words.append(std::string(word));
  all[name] = words;
}

void add_data(nb::module_& module) {
  nb::class_<ImageOptions>(module, "ImageOptions")
      .def(nb::init<>())
      .def_rw("geometry", &ImageOptions::geometry)
      .def_rw("mean", &ImageOptions::mean)
      .def_rw("scale", &ImageOptions::scale)
      .def_rw("color", &ImageOptions::color)
      .def_rw("layout", &ImageOptions::layout);
  of_table<SourceOptions>(module, table::kSource)
      .def_prop_rw(
          "source", [](const SourceOptions& options) { return std::const_pointer_cast<SampleSource>(options.source); },
          [](SourceOptions& options, std::shared_ptr<SampleSource> source) { options.source = std::move(source); })
      .def("set_arrays", [](SourceOptions& options, const Arrays& arrays) { options.arrays = tensors_of(arrays); })
      .def_rw("location", &SourceOptions::location)
      .def_rw("further", &SourceOptions::further)
      .def_rw("spare_names", &SourceOptions::spare_names)
      .def_rw("image", &SourceOptions::image)
      .def_rw("value_ranges", &SourceOptions::value_ranges)
      .def_rw("random_samples", &SourceOptions::random_samples)
      .def_rw("carried", &SourceOptions::carried)
      .def_rw("python", &SourceOptions::python);
}

void add_measuring(nb::module_& module) {
  nb::class_<Limit>(module, "Limit")
      .def("__init__",
           [](Limit* limit, double value, std::string output) {
             new (limit) Limit{value, output};
           })
      .def_rw("value", &Limit::value)
      .def_rw("output", &Limit::output);
  nb::class_<Requirement>(module, "Requirement")
      .def("__init__",
           [](Requirement* made, Metric metric, const std::vector<Limit>& limits) {
             new (made) Requirement{metric, limits};
           })
      .def_rw("metric", &Requirement::metric)
      .def_rw("limits", &Requirement::limits)
      .def_rw("confidence", &Requirement::confidence)
      .def_ro("margin_db", &Requirement::margin_db);
  module.def("with_margin", &with_margin);
  of_table<MeasureOptions>(module, table::kRunning, table::kCalibration, table::kJudged, table::kBatch)
      .def_rw(table::kOutputs.words.argument, table::kOutputs.member)
      .def_rw("data", &MeasureOptions::data)
      .def_rw("calibration_data", &MeasureOptions::calibration_data)
      .def_rw("requirement", &MeasureOptions::requirement)
      .def_rw("partial_folder", &MeasureOptions::partial_folder);
}

void add_precision(nb::module_& module) {
  nb::class_<CalibrationChoice>(module, "CalibrationChoice")
      .def("__init__", [](CalibrationChoice* made, std::string_view text) {
        const std::optional<CalibrationChoice> choice = parse_calibration_method(text);
        if (!choice) {
          throw Error(ErrorCode::BadValue, "'" + std::string(text) + "' is not a calibration method",
                      "minmax, percentile, percentile:99.99, entropy, mse, aciq, auto");
        }
        new (made) CalibrationChoice(*choice);
      });
  of_table<QuantizationRules>(module, table::kRules);
  of_table<LayerSelection>(module, table::kSelection);
  of_table<PrecisionOptions>(module, table::kPrecision, table::kCalibrationMethod)
      .def_rw("rules", &PrecisionOptions::rules)
      .def_rw("selection", &PrecisionOptions::selection);
}

void add_searching(nb::module_& module) {
  nb::class_<Labels>(module, "Labels")
      .def_static("of_file", [](const std::filesystem::path& file) { return Labels(file); })
      .def_static("of_values", [](const Array& values,
                                  std::string name) { return Labels::of_values(tensor_of(values), std::move(name)); })
      .def_static("of_annotations", &Labels::of_annotations);
  nb::class_<LabelRequirement>(module, "LabelRequirement")
      .def(nb::init<>())
      .def_rw("labels", &LabelRequirement::labels)
      .def_rw("offset", &LabelRequirement::offset)
      .def_rw("top", &LabelRequirement::top)
      .def_rw("min_share", &LabelRequirement::min_share)
      .def_rw("confidence", &LabelRequirement::confidence);
  nb::class_<MetricFunction>(module, "MetricFunction")
      .def_static("of", metric_of, nb::arg("function"), nb::arg("name"), nb::arg("min").none(), nb::arg("max").none());
  nb::class_<TaskRequirement>(module, "TaskRequirement")
      .def(nb::init<>())
      .def_rw("labels", &TaskRequirement::labels)
      .def_rw("function", &TaskRequirement::function);
  of_table<SearchOptions>(module, table::kSearch).def_rw("task", &SearchOptions::task);
}

void add_engines(nb::module_& module) {
  of_table<CompileOptions>(module, table::kEngine, table::kEngineProcess);
  nb::class_<EngineRunOptions>(module, "EngineRunOptions")
      .def(nb::init<>())
      .def_rw("engine", &EngineRunOptions::engine)
      .def_rw("device", &EngineRunOptions::device)
      .def_rw("python", &EngineRunOptions::python)
      .def_rw("seconds", &EngineRunOptions::seconds);
}

void add_job_options(nb::module_& module) {
  of_table<DiagnoseOptions>(module, table::kDiagnosis, table::kAlternatives)
      .def_rw("model", &DiagnoseOptions::model)
      .def_rw("quantized", &DiagnoseOptions::from)
      .def_rw("output", &DiagnoseOptions::output)
      .def_rw("measure", &DiagnoseOptions::measure)
      .def_rw("precision", &DiagnoseOptions::precision)
      .def_rw("command", &DiagnoseOptions::command)
      .def_rw("search", &DiagnoseOptions::search)
      .def_rw("compile", &DiagnoseOptions::compile)
      .def_rw("confirm_on", &DiagnoseOptions::confirm_on)
      .def_rw("engine", &DiagnoseOptions::engine)
      .def_rw("sample_pictures", &DiagnoseOptions::sample_pictures)
      .def_rw("cache_folder", &DiagnoseOptions::cache_folder)
      .def_rw("causes", &DiagnoseOptions::causes)
      .def("cross_fit", [](DiagnoseOptions& options) { options.measure.cross_fit = true; });
  nb::class_<RepairOptions>(module, "RepairOptions")
      .def(nb::init<>())
      .def_rw("allow", &RepairOptions::allow)
      .def_rw("forbid", &RepairOptions::forbid)
      .def_rw("own", &RepairOptions::own)
      .def_rw("qat", &RepairOptions::qat);
  nb::class_<FixOptions, DiagnoseOptions>(module, "FixOptions").def(nb::init<>()).def_rw("repair", &FixOptions::repair);
  nb::class_<VerifyOptions>(module, "VerifyOptions")
      .def(nb::init<>())
      .def_rw("float_model", &VerifyOptions::float_model)
      .def_rw("typed_model", &VerifyOptions::typed_model)
      .def_rw("measure", &VerifyOptions::measure)
      .def_rw("target", &VerifyOptions::target)
      .def_rw("task", &VerifyOptions::task)
      .def_rw("on", &VerifyOptions::on)
      .def_rw("engine", &VerifyOptions::engine)
      .def_rw("layers_on_engine", &VerifyOptions::layers_on_engine)
      .def_rw("command", &VerifyOptions::command);
  nb::class_<QuantizeOptions>(module, "QuantizeOptions")
      .def(nb::init<>())
      .def_rw("model", &QuantizeOptions::model)
      .def_rw("output", &QuantizeOptions::output)
      .def_rw("plan", &QuantizeOptions::plan)
      .def_rw("precision", &QuantizeOptions::precision)
      .def_rw("measure", &QuantizeOptions::measure)
      .def_rw("compile", &QuantizeOptions::compile);
  nb::class_<CalibrateOptions>(module, "CalibrateOptions")
      .def(nb::init<>())
      .def_rw("model", &CalibrateOptions::model)
      .def_rw("output", &CalibrateOptions::output)
      .def_rw("output_form", &CalibrateOptions::output_form)
      .def_rw("measure", &CalibrateOptions::measure)
      .def_rw("precision", &CalibrateOptions::precision)
      .def_rw("command", &CalibrateOptions::command);
  nb::class_<CheckDataOptions>(module, "CheckDataOptions")
      .def(nb::init<>())
      .def_rw("model", &CheckDataOptions::model)
      .def_rw("task", &CheckDataOptions::task)
      .def_rw("measure", &CheckDataOptions::measure);
  of_table<EvalOptions>(module, table::kEvaluation, table::kDetection, table::kLimits, table::kOn)
      .def_rw("model", &EvalOptions::model)
      .def_rw("against", &EvalOptions::against)
      .def_rw("labels", &EvalOptions::labels)
      .def_rw("function", &EvalOptions::function)
      .def_rw("engine", &EvalOptions::engine)
      .def_rw("measure", &EvalOptions::measure)
      .def_rw("command", &EvalOptions::command);
  of_table<BenchOptions>(module, table::kTiming, table::kOnnxRuntime)
      .def("add_runner", [](BenchOptions& options, const RunnerOptions& runner) { options.runners.push_back(runner); })
      .def_rw("measure", &BenchOptions::measure)
      .def_rw("engine", &BenchOptions::engine)
      .def_rw("command", &BenchOptions::command);
  nb::class_<InspectEngineOptions>(module, "InspectEngineOptions")
      .def(nb::init<>())
      .def_rw("file", &InspectEngineOptions::file)
      .def_rw("model", &InspectEngineOptions::model)
      .def_rw("compile", &InspectEngineOptions::compile);
  nb::class_<DebugLossOptions>(module, "DebugLossOptions")
      .def(nb::init<>())
      .def_rw("float_model", &DebugLossOptions::float_model)
      .def_rw("quantized_model", &DebugLossOptions::quantized_model)
      .def_rw("measure", &DebugLossOptions::measure)
      .def_rw("command", &DebugLossOptions::command);
}

}  // namespace

void add_options(nb::module_& module) {
  add_data(module);
  add_measuring(module);
  add_precision(module);
  add_searching(module);
  add_engines(module);
  add_job_options(module);
  nb::list rows;
  for (const table::Entry& entry : table::entries()) {
    if (*entry.words.jobs == '\0' && *entry.words.argument == '\0') continue;
    nb::list choices;
    for (const std::string& choice : entry.choices) choices.append(choice);
    rows.append(nb::make_tuple(entry.options, entry.words.argument, entry.kind, entry.words.names, entry.words.off,
                               entry.words.least, entry.words.most, choices));
  }
  module.attr("TABLE") = rows;
  module.attr("CLAIM_CONFIDENCE") = kClaimConfidence;
  nb::dict words;
  add_words<Format>(words, "Format");
  add_words<Metric>(words, "Metric");
  add_words<DiffMetric>(words, "DiffMetric");
  module.attr("WORDS") = words;
}

}  // namespace vernier::python
