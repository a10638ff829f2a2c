// Models and samples.
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/shared_ptr.h>
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
#include "vernier/onnx_model.h"
#include "vernier/samples.h"

namespace nb = nanobind;

namespace vernier::python {
namespace {

/// The bytes of a Python object, which is held as long as they are needed.
OnnxModel model_of(const nb::bytes& message, std::string name, std::filesystem::path folder) {
  PyObject* const held = message.ptr();
  Py_INCREF(held);
  const std::shared_ptr<const std::byte> bytes(static_cast<const std::byte*>(message.data()),
                                               [held](const std::byte* /*bytes*/) {
                                                 if (!nb::is_alive()) return;
                                                 const nb::gil_scoped_acquire acquired;
                                                 Py_DECREF(held);
                                               });
  return OnnxModel::of_bytes(bytes, message.size(), std::move(name), std::move(folder));
}

/// Samples that a function of Python's makes when they are asked for, on whatever thread asks.
class CalledSamples final : public SampleSource {
 public:
  CalledSamples(std::size_t size, nb::object at, std::string name)
      : size_(size), at_(std::move(at)), name_(std::move(name)) {}
  ~CalledSamples() override {
    if (!nb::is_alive()) {  // the interpreter has ended, and its objects with it
      at_.release();
      return;
    }
    const nb::gil_scoped_acquire acquired;
    at_.reset();
  }
  CalledSamples(const CalledSamples&) = delete;
  CalledSamples& operator=(const CalledSamples&) = delete;

  std::size_t size() const override { return size_; }
  std::string description() const override { return name_; }
  Sample at(std::size_t index) const override {
    const nb::gil_scoped_acquire acquired;
    return tensors_of(nb::cast<Arrays>(at_(index)));
  }

  /// For the garbage collector: the function may refer to who holds these samples.
  static int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<CalledSamples>(self)->at_.ptr());
    return 0;
  }
  static int clear(PyObject* self) {
    nb::inst_ptr<CalledSamples>(self)->at_.reset();
    return 0;
  }

 private:
  std::size_t size_;
  nb::object at_;
  std::string name_;
};

}  // namespace

void add_models(nb::module_& module) {
  nb::class_<OnnxModel>(module, "OnnxModel")
      .def(nb::init<>())
      .def(nb::init<std::filesystem::path>(), nb::arg("file"))
      .def_static("of_bytes", model_of, nb::arg("message"), nb::arg("name"), nb::arg("folder"))
      .def_prop_ro("name", &OnnxModel::name)
      .def_prop_ro("in_memory", &OnnxModel::in_memory)
      .def_prop_ro("file", [](const OnnxModel& model) { return model.file(); })
      .def("__bool__", [](const OnnxModel& model) { return !model.empty(); })
      .def_prop_ro("inputs",
                   [](const OnnxModel& model) {
                     std::vector<std::string> names;
                     const nb::gil_scoped_release released;
                     for (const InputInfo& input : model.inputs()) names.push_back(input.name);
                     return names;
                   })
      .def("bytes",
           [](const OnnxModel& model) {
             std::string message;
             {
               const nb::gil_scoped_release released;
               message = model.bytes();
             }
             return nb::bytes(message.data(), message.size());
           })
      .def(
          "write", [](const OnnxModel& model, const std::filesystem::path& path) { model.write(path); },
          nb::call_guard<nb::gil_scoped_release>());

  nb::class_<SampleSource>(module, "SampleSource")
      .def("__len__", &SampleSource::size)
      .def_prop_ro("description", &SampleSource::description)
      .def("at", [](const SampleSource& source, std::size_t index) {
        Sample sample;
        {
          const nb::gil_scoped_release released;
          sample = source.at(index);
        }
        return arrays_of(sample);
      });
  module.def("listed_samples", [](const std::vector<Arrays>& samples, const std::string& name) {
    std::vector<Sample> tensors;
    tensors.reserve(samples.size());
    for (const Arrays& sample : samples) tensors.push_back(tensors_of(sample));
    return std::const_pointer_cast<SampleSource>(samples_in_memory(std::move(tensors), name));
  });
  static PyType_Slot slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(CalledSamples::traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(CalledSamples::clear)},
                                {0, nullptr}};
  nb::class_<CalledSamples, SampleSource>(module, "CalledSamples", nb::type_slots(slots))
      .def(nb::init<std::size_t, nb::object, std::string>());
}

}  // namespace vernier::python
