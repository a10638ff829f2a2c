// onnx_vernier._core: the library as it is, for the package's own Python. People use what onnx_vernier/*.py makes of
// it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>

#include <exception>
#include <filesystem>
#include <new>
#include <string>

#include "base/version.h"
#include "parts.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/onnxruntime.h"

namespace nb = nanobind;

namespace {

const char* class_of(vernier::ErrorKind kind) {
  switch (kind) {
    case vernier::ErrorKind::Usage:
      return "UsageError";
    case vernier::ErrorKind::Input:
      return "InputError";
    case vernier::ErrorKind::Backend:
      return "BackendError";
    case vernier::ErrorKind::Interrupted:
      return "Interrupted";
    case vernier::ErrorKind::Internal:
      break;
  }
  return "InternalError";
}

void raise(const vernier::Error& error) {
  const nb::object raised = nb::module_::import_("onnx_vernier._errors")
                                .attr(class_of(error.kind()))(error.what(), error.hint(), code_name(error.code()));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised.ptr())), raised.ptr());
}

void translate(const std::exception_ptr& thrown, void* /*payload*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const vernier::Error& error) {
    raise(error);
  } catch (const std::filesystem::filesystem_error& error) {
    raise(vernier::Error(vernier::ErrorCode::FileUnreadable, error.what()));
  }
}

}  // namespace

NB_MODULE(_core, module) {
  nb::register_exception_translator(translate);
  module.def("use_onnxruntime", &vernier::use_onnxruntime);
  module.attr("__version__") = std::string(vernier::vernier_version());
  vernier::python::add_models(module);
  vernier::python::add_options(module);
  vernier::python::add_experiments(module);
  vernier::python::add_jobs(module);
  vernier::python::add_reports(module);
  vernier::python::add_numbers(module);
  vernier::python::add_search(module);
  vernier::python::add_runs(module);
}
