// Saved inputs and results, in the forms that Polygraphy's have.
#include "vernier/runs.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
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
#include "parts.h"

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

void save_inputs(const std::filesystem::path& path, const std::vector<NamedArrays>& samples) {
  InputWriter writer(path);
  for (const NamedArrays& sample : samples) writer.add(named(sample));
  writer.finish();
}

}  // namespace

void add_runs(nb::module_& module) {
  module.def("load_runs", load_runs);
  module.def("save_runs", save_runs);
  module.def("save_inputs", save_inputs);
}

}  // namespace vernier::python
