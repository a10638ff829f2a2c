// Saved inputs and results, in the forms that Polygraphy's have.
#include "vernier/runs.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arrays.h"
#include "base/parallel.h"
#include "calls.h"
#include "parts.h"
#include "vernier/data_diff.h"
#include "vernier/engine.h"
#include "vernier/error.h"
#include "vernier/run.h"
#include "words.h"

namespace nb = nanobind;

namespace vernier::python {
namespace {

using NamedArrays = std::vector<std::pair<std::string, Array>>;

std::vector<NamedTensor> named(const NamedArrays& arrays) {
  std::vector<NamedTensor> tensors;
  tensors.reserve(arrays.size());
  for (const auto& [name, array] : arrays) tensors.push_back({name, tensor_of(array)});
  return tensors;
}

/// [(runner, [[(output, array)] of each iteration])]
nb::list load_runs(const std::filesystem::path& path) {
  nb::list runs;
  for (const std::unique_ptr<Run>& run : open_runs(path)) {
    nb::list iterations;
    for (std::size_t i = 0; i < run->size(); ++i) {
      nb::list outputs;
      for (const NamedTensor& output : run->at(i).outputs) {
        outputs.append(nb::make_tuple(output.name, array_of(output.tensor)));
      }
      iterations.append(outputs);
    }
    runs.append(nb::make_tuple(run->name(), iterations));
  }
  return runs;
}

std::vector<Iteration> iterations_of(const std::vector<NamedArrays>& given) {
  std::vector<Iteration> iterations;
  iterations.reserve(given.size());
  for (const NamedArrays& outputs : given) iterations.push_back({named(outputs), {}});
  return iterations;
}

void save_runs(const std::filesystem::path& path,
               const std::vector<std::pair<std::string, std::vector<NamedArrays>>>& runs) {
  std::vector<std::string> names;
  for (const auto& [name, iterations] : runs) names.push_back(name);
  RunWriter writer(path, names);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const NamedArrays& iteration : runs[i].second) writer.add(i, {named(iteration), {}});
  }
  writer.finish();
}

/// The outputs of one runner for all samples: [{output: array} of each].
nb::list run_all(const RunOptions& options, const nb::object& listener) {
  std::vector<Iteration> iterations;
  call(listener, [&](const JobSinks& sinks) {
    const std::unique_ptr<Run> run = open_runner(options, 0, sinks);
    iterations.resize(run->size());
    const std::size_t threads = options.measure.threads == 0 ? usable_cores() : options.measure.threads;
    parallel_ordered(
        run->size(), run->is_sequence() ? 1 : threads, [&](std::size_t index) { return run->at(index); },
        [&](std::size_t index, Iteration iteration) {
          iterations[index] = std::move(iteration);
          if (sinks.progress) sinks.progress("run", index + 1, iterations.size());
          if (sinks.is_interrupted()) throw Error(ErrorKind::Interrupted, "interrupted");
          return true;
        });
  });
  nb::list all;
  for (const Iteration& iteration : iterations) {
    nb::dict outputs;
    for (const NamedTensor& output : iteration.outputs) outputs[output.name.c_str()] = array_of(output.tensor);
    all.append(outputs);
  }
  return all;
}

void save_inputs(const std::filesystem::path& path, const std::vector<NamedArrays>& samples) {
  InputWriter writer(path);
  for (const NamedArrays& sample : samples) writer.add(named(sample));
  writer.finish();
}

}  // namespace

void add_runs(nb::module_& module) {
  nb::class_<OutputChoice>(module, "OutputChoice")
      .def(nb::init<>())
      .def_rw("names", &OutputChoice::names)
      .def_rw("excluded", &OutputChoice::excluded)
      .def_rw("op_types", &OutputChoice::op_types);
  nb::class_<RunnerOptions>(module, "RunnerOptions")
      .def(nb::init<>())
      .def_rw("model", &RunnerOptions::model)
      .def_rw("precision", &RunnerOptions::precision)
      .def("simulate",
           [](RunnerOptions& runner, bool simulated) {
             runner.kind = simulated ? RunnerKind::Simulated : RunnerKind::OnnxRuntime;
           })
      .def("run_on",
           [](RunnerOptions& runner, MeasureOn engine) {
             runner.kind = engine == MeasureOn::OnnxRuntime ? RunnerKind::OnnxRuntime
                           : engine == MeasureOn::TensorRt  ? RunnerKind::TensorRt
                                                            : RunnerKind::OpenVino;
             runner.use = EngineUse::Always;
           })
      .def_rw("device", &RunnerOptions::device);
  nb::class_<RunOptions>(module, "RunOptions")
      .def(nb::init<>())
      .def_rw("measure", &RunOptions::measure)
      .def_rw("onnx_outputs", &RunOptions::onnx_outputs)
      .def_rw("optimization", &RunOptions::optimization)
      .def("add_runner", [](RunOptions& options, const RunnerOptions& runner) { options.runners.push_back(runner); });
  nb::class_<DiffOptions>(module, "DiffOptions")
      .def(nb::init<>())
      .def_rw("reference", &DiffOptions::reference)
      .def_rw("tested", &DiffOptions::tested)
      .def("set_reference",
           [](DiffOptions& options, const std::vector<NamedArrays>& outputs) {
             options.reference_values = run_in_memory("reference", iterations_of(outputs));
           })
      .def("set_tested",
           [](DiffOptions& options, const std::vector<NamedArrays>& outputs) {
             options.tested_values = run_in_memory("tested", iterations_of(outputs));
           })
      .def_rw("metric", &DiffOptions::metric)
      .def_rw("metric_chosen", &DiffOptions::metric_chosen)
      .def_rw("threshold", &DiffOptions::threshold)
      .def_rw("command", &DiffOptions::command);
  module.def("run_all", run_all, nb::arg("options"), nb::arg("listener").none());
  module.def("load_runs", load_runs);
  module.def("save_runs", save_runs);
  module.def("save_inputs", save_inputs);
}

}  // namespace vernier::python
