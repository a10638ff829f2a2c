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
#include <utility>
#include <vector>

#include "arrays.h"
#include "calls.h"
#include "parts.h"
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
  nb::class_<SourceOptions>(module, "SourceOptions")
      .def(nb::init<>())
      .def_prop_rw(
          "source", [](const SourceOptions& options) { return std::const_pointer_cast<SampleSource>(options.source); },
          [](SourceOptions& options, std::shared_ptr<SampleSource> source) { options.source = std::move(source); })
      .def("set_arrays", [](SourceOptions& options, const Arrays& arrays) { options.arrays = tensors_of(arrays); })
      .def_rw("location", &SourceOptions::location)
      .def_rw("further", &SourceOptions::further)
      .def_rw("split_batch", &SourceOptions::split_batch)
      .def_rw("spare_names", &SourceOptions::spare_names)
      .def_rw("limit", &SourceOptions::limit)
      .def_rw("image", &SourceOptions::image)
      .def_rw("value_ranges", &SourceOptions::value_ranges)
      .def_rw("seed", &SourceOptions::seed)
      .def_rw("random_samples", &SourceOptions::random_samples)
      .def_rw("shapes", &SourceOptions::shapes)
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
      .def_ro("margin_db", &Requirement::margin_db);
  module.def("with_margin", &with_margin);
  nb::class_<MeasureOptions>(module, "MeasureOptions")
      .def(nb::init<>())
      .def_rw("data", &MeasureOptions::data)
      .def_rw("calibration_data", &MeasureOptions::calibration_data)
      .def_rw("calibration_cache", &MeasureOptions::calibration_cache)
      .def_rw("outputs", &MeasureOptions::outputs)
      .def_rw("output_parts", &MeasureOptions::output_parts)
      .def_rw("carries", &MeasureOptions::carries)
      .def_rw("requirement", &MeasureOptions::requirement)
      .def_rw("top1_axes", &MeasureOptions::top1_axes)
      .def_rw("split", &MeasureOptions::split)
      .def_rw("threads", &MeasureOptions::threads)
      .def_rw("batch", &MeasureOptions::batch)
      .def_rw("partial_folder", &MeasureOptions::partial_folder)
      .def_rw("custom_operators", &MeasureOptions::custom_operators)
      .def_rw("external_data_dir", &MeasureOptions::external_data_dir);
}

void add_precision(nb::module_& module) {
  nb::class_<CalibrationChoice>(module, "CalibrationChoice")
      .def("__init__", [](CalibrationChoice* made, std::string_view text) {
        const std::optional<CalibrationChoice> choice = parse_calibration_method(text);
        if (!choice) {
          throw Error(ErrorKind::Usage, "'" + std::string(text) + "' is no way to calibrate",
                      "minmax, percentile, percentile:99.99, entropy, mse, aciq, auto");
        }
        new (made) CalibrationChoice(*choice);
      });
  nb::class_<QuantizationRules>(module, "QuantizationRules")
      .def(nb::init<>())
      .def_rw("weights_only", &QuantizationRules::weights_only)
      .def_rw("block_size", &QuantizationRules::block_size)
      .def_rw("weights_per_channel", &QuantizationRules::weights_per_channel)
      .def_rw("symmetric_activations", &QuantizationRules::symmetric_activations)
      .def_rw("integer_bias", &QuantizationRules::integer_bias)
      .def_rw("paired_weights", &QuantizationRules::paired_weights)
      .def_rw("reduce_range", &QuantizationRules::reduce_range);
  nb::class_<LayerSelection>(module, "LayerSelection")
      .def(nb::init<>())
      .def_rw("op_types", &LayerSelection::op_types)
      .def_rw("excluded_op_types", &LayerSelection::excluded_op_types)
      .def_rw("nodes", &LayerSelection::nodes)
      .def_rw("excluded_nodes", &LayerSelection::excluded_nodes)
      .def_rw("subgraphs", &LayerSelection::subgraphs);
  nb::class_<Arithmetic>(module, "Arithmetic")
      .def(nb::init<>())
      .def_rw("accumulate", &Arithmetic::accumulate)
      .def_rw("tf32", &Arithmetic::tf32);
  nb::class_<PrecisionOptions>(module, "PrecisionOptions")
      .def(nb::init<>())
      .def_rw("low", &PrecisionOptions::low)
      .def_rw("high", &PrecisionOptions::high)
      .def_rw("target", &PrecisionOptions::target)
      .def_rw("calibration", &PrecisionOptions::calibration)
      .def_rw("layer_precisions", &PrecisionOptions::layer_precisions)
      .def_rw("constraints", &PrecisionOptions::constraints)
      .def_rw("rules", &PrecisionOptions::rules)
      .def_rw("arithmetic", &PrecisionOptions::arithmetic)
      .def_rw("selection", &PrecisionOptions::selection)
      .def_rw("even_if_slower", &PrecisionOptions::even_if_slower);
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
      .def_rw("min_share", &LabelRequirement::min_share);
  nb::class_<MetricFunction>(module, "MetricFunction")
      .def_static("of", metric_of, nb::arg("function"), nb::arg("name"), nb::arg("min").none(), nb::arg("max").none());
  nb::class_<TaskRequirement>(module, "TaskRequirement")
      .def(nb::init<>())
      .def_rw("labels", &TaskRequirement::labels)
      .def_rw("function", &TaskRequirement::function);
  nb::class_<SearchOptions>(module, "SearchOptions")
      .def(nb::init<>())
      .def_rw("mode", &SearchOptions::mode)
      .def_rw("direction", &SearchOptions::direction)
      .def_rw("step", &SearchOptions::step)
      .def_rw("cost", &SearchOptions::cost)
      .def_rw("confidence", &SearchOptions::confidence)
      .def_rw("whole_groups", &SearchOptions::whole_groups)
      .def_rw("prove_minimum", &SearchOptions::prove_minimum)
      .def_rw("max_evaluations", &SearchOptions::max_evaluations)
      .def_rw("max_seconds", &SearchOptions::max_seconds)
      .def_rw("journal", &SearchOptions::journal)
      .def_rw("resume", &SearchOptions::resume)
      .def_rw("task", &SearchOptions::task)
      .def_rw("validate", &SearchOptions::validate)
      .def_rw("minimal_too", &SearchOptions::minimal_too)
      .def_rw("pareto", &SearchOptions::pareto);
}

void add_engines(nb::module_& module) {
  nb::class_<CompileOptions>(module, "CompileOptions")
      .def(nb::init<>())
      .def_rw("engine", &CompileOptions::engine)
      .def_rw("compute_capability", &CompileOptions::compute_capability)
      .def_rw("shapes", &CompileOptions::shapes)
      .def_rw("python", &CompileOptions::python)
      .def_rw("seconds", &CompileOptions::seconds);
  nb::class_<EngineRunOptions>(module, "EngineRunOptions")
      .def(nb::init<>())
      .def_rw("engine", &EngineRunOptions::engine)
      .def_rw("device", &EngineRunOptions::device)
      .def_rw("python", &EngineRunOptions::python)
      .def_rw("seconds", &EngineRunOptions::seconds);
}

void add_job_options(nb::module_& module) {
  nb::class_<DiagnoseOptions>(module, "DiagnoseOptions")
      .def(nb::init<>())
      .def_rw("model", &DiagnoseOptions::model)
      .def_rw("quantized", &DiagnoseOptions::from)
      .def_rw("output", &DiagnoseOptions::output)
      .def_rw("measure", &DiagnoseOptions::measure)
      .def_rw("precision", &DiagnoseOptions::precision)
      .def_rw("command", &DiagnoseOptions::command)
      .def_rw("latency", &DiagnoseOptions::latency)
      .def_rw("rank", &DiagnoseOptions::rank)
      .def_rw("search", &DiagnoseOptions::search)
      .def_rw("compile", &DiagnoseOptions::compile)
      .def_rw("confirm_on", &DiagnoseOptions::confirm_on)
      .def_rw("engine", &DiagnoseOptions::engine)
      .def_rw("alternatives", &DiagnoseOptions::alternatives)
      .def_rw("sample_pictures", &DiagnoseOptions::sample_pictures)
      .def_rw("cache_folder", &DiagnoseOptions::cache_folder)
      .def_rw("causes", &DiagnoseOptions::causes)
      .def_rw("pictures", &DiagnoseOptions::pictures)
      .def("share_out", [](DiagnoseOptions& options) { options.measure.split = fitting_split(options); });
  nb::class_<RepairOptions>(module, "RepairOptions")
      .def(nb::init<>())
      .def_rw("allow", &RepairOptions::allow)
      .def_rw("forbid", &RepairOptions::forbid)
      .def_rw("own", &RepairOptions::own);
  nb::class_<FixOptions, DiagnoseOptions>(module, "FixOptions").def(nb::init<>()).def_rw("repair", &FixOptions::repair);
  nb::class_<VerifyOptions>(module, "VerifyOptions")
      .def(nb::init<>())
      .def_rw("float_model", &VerifyOptions::float_model)
      .def_rw("typed_model", &VerifyOptions::typed_model)
      .def_rw("measure", &VerifyOptions::measure)
      .def_rw("target", &VerifyOptions::target)
      .def_rw("arithmetic", &VerifyOptions::arithmetic)
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
  nb::class_<EvalOptions>(module, "EvalOptions")
      .def(nb::init<>())
      .def_rw("model", &EvalOptions::model)
      .def_rw("against", &EvalOptions::against)
      .def_rw("task", &EvalOptions::task)
      .def_rw("labels", &EvalOptions::labels)
      .def_rw("label_offset", &EvalOptions::label_offset)
      .def_rw("ignored_label", &EvalOptions::ignored_label)
      .def_rw("boxes", &EvalOptions::boxes)
      .def_rw("box_order", &EvalOptions::box_order)
      .def_rw("scores", &EvalOptions::scores)
      .def_rw("box_units", &EvalOptions::box_units)
      .def_rw("fit", &EvalOptions::fit)
      .def_rw("background_classes", &EvalOptions::background_classes)
      .def_rw("overlap", &EvalOptions::overlap)
      .def_rw("least_score", &EvalOptions::least_score)
      .def_rw("function", &EvalOptions::function)
      .def_rw("on", &EvalOptions::on)
      .def_rw("engine", &EvalOptions::engine)
      .def_rw("min", &EvalOptions::min)
      .def_rw("max", &EvalOptions::max)
      .def_rw("max_loss", &EvalOptions::max_loss)
      .def_rw("measure", &EvalOptions::measure)
      .def_rw("command", &EvalOptions::command);
  nb::class_<BenchOptions>(module, "BenchOptions")
      .def(nb::init<>())
      .def("add_runner", [](BenchOptions& options, const RunnerOptions& runner) { options.runners.push_back(runner); })
      .def_rw("measure", &BenchOptions::measure)
      .def_rw("batches", &BenchOptions::batches)
      .def_rw("seconds", &BenchOptions::seconds)
      .def_rw("iterations", &BenchOptions::iterations)
      .def_rw("providers", &BenchOptions::providers)
      .def_rw("engine", &BenchOptions::engine)
      .def_rw("layers", &BenchOptions::layers)
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
  nb::dict words;
  add_words<Format>(words, "Format");
  add_words<Target>(words, "Target");
  add_words<Metric>(words, "Metric");
  add_words<CostUnit>(words, "CostUnit");
  add_words<SearchMode>(words, "SearchMode");
  add_words<PrecisionConstraints>(words, "PrecisionConstraints");
  add_words<Accumulate>(words, "Accumulate");
  add_words<MeasureOn>(words, "MeasureOn");
  add_words<EngineChoice>(words, "EngineChoice");
  add_words<RangesForm>(words, "RangesForm");
  add_words<ImageColor>(words, "ImageColor");
  add_words<ImageLayout>(words, "ImageLayout");
  add_words<GraphOptimization>(words, "GraphOptimization");
  add_words<DiffMetric>(words, "DiffMetric");
  add_words<Task>(words, "Task");
  add_words<BoxForm>(words, "BoxForm");
  add_words<BoxOrder>(words, "BoxOrder");
  add_words<ScoreFunction>(words, "ScoreFunction");
  add_words<BoxUnits>(words, "BoxUnits");
  add_words<ImageFit>(words, "ImageFit");
  module.attr("WORDS") = words;
}

}  // namespace vernier::python
