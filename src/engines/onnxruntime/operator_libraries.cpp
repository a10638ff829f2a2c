#include "engines/onnxruntime/operator_libraries.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstddef>
#include <fstream>
#include <string_view>
#include <system_error>

#include "base/process.h"
#include "base/process_copy.h"
#include "base/refuse.h"
#include "base/text.h"
#include "model/model.h"
#include "model/operator_traits.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kMostSeconds = 60;
constexpr const char* kEntry = "RegisterCustomOps";

std::string said_of(const fs::path& library) { return "‹custom-ops› " + printable(library.string()); }

/// The path as the system's loader needs it, which looks for names without a slash elsewhere.
std::string loadable(const fs::path& library) { return fs::absolute(library).string(); }

/// "libpython3.11.so.1.0" for an extension module such as x.cpython-311-x86_64-linux-gnu.so; empty for others.
std::string python_library(const std::string& module) {
  constexpr std::string_view kMark = ".cpython-3";
  const std::size_t at = module.find(kMark);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + kMark.size();
  const std::size_t end = module.find_first_not_of("0123456789", begin);
  return fmt::format("libpython3.{}.so.1.0", module.substr(begin, end - begin));
}

/// The folder of the programs of the Python that a virtual environment was made of; empty where `folder` is none.
fs::path home_of(const fs::path& folder) {
  std::ifstream settings(folder / "pyvenv.cfg");
  constexpr std::string_view kHome = "home = ";
  for (std::string line; std::getline(settings, line);) {
    if (line.starts_with(kHome)) return line.substr(kHome.size());
  }
  return {};
}

/// Wheels hold their operators in an extension module, which leaves Python's own functions to the program that loads
/// it. Loads them, from where the module's Python lies or from the system; nothing where there are none.
void load_python_for(const fs::path& library) {
  const std::string name = python_library(library.filename().string());
  if (name.empty()) return;
  std::vector<std::string> places;
  fs::path folder = fs::absolute(library).parent_path();
  for (; folder.has_relative_path(); folder = folder.parent_path()) {
    places.push_back((folder / name).string());
    if (const fs::path home = home_of(folder); !home.empty()) places.push_back((home / ".." / "lib" / name).string());
  }
  places.push_back(name);
  for (const std::string& place : places) {
    if (::dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) return;
  }
}

/// dlopen(), and its reason where it fails.
void* open_library(const fs::path& library, std::string& why) {
  const std::string path = loadable(library);
  void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const char* const said = handle == nullptr ? ::dlerror() : nullptr;
  why = said == nullptr ? "" : said;
  if (why.starts_with(path + ": ")) why.erase(0, path.size() + 2);
  return handle;
}

void load_and_register(const Runtime& runtime, OrtSessionOptions* options, const fs::path& library) {
  // Held for good: its operators may be needed as long as the process lives.
  std::string why;
  void* handle = open_library(library, why);
  const bool lacks_python = why.starts_with("undefined symbol: Py") || why.starts_with("undefined symbol: _Py");
  if (handle == nullptr && lacks_python) {
    load_python_for(library);
    handle = open_library(library, why);
  }
  if (handle == nullptr) {
    throw Error(ErrorCode::Library, fmt::format("{}: cannot be loaded: {}", said_of(library), printable(why)),
                lacks_python
                    ? fmt::format("it is a module of Python's and needs its shared library, {}, in LD_LIBRARY_PATH",
                                  python_library(library.filename().string()))
                    : "a shared library of custom operators for ONNX Runtime, built for this machine");
  }
  if (::dlsym(handle, kEntry) == nullptr) {
    throw Error(ErrorCode::Library, fmt::format("{}: has no function {}", said_of(library), kEntry),
                "a shared library of custom operators for ONNX Runtime exports it");
  }
  try {
    runtime.check(runtime.api().RegisterCustomOpsLibrary_V2(options, loadable(library).c_str()));
  } catch (const Error& error) {
    throw placed(said_of(library), error);
  }
}

/// Errors: Backend when loading `library` ends a process.
void try_in_copy(const Runtime& runtime, OrtSessionOptions* options, const fs::path& library) {
  std::string words;
  const ProcessEnd end = run_in_copy([&] { load_and_register(runtime, options, library); }, kMostSeconds, words);
  if (end.succeeded()) return;
  if (end.interrupted) throw Error(ErrorKind::Interrupted, "interrupted");
  throw Error(ErrorCode::RuntimeFails, fmt::format("{}: a process that loaded it {}", said_of(library), end_text(end)),
              words.empty() ? fmt::format("it may have been built for another ONNX Runtime than {}", runtime.version())
                            : "its last words: " + printable(words));
}

}  // namespace

OwnedOptions register_libraries(const Runtime& runtime, const std::vector<fs::path>& libraries) {
  OwnedOptions options = runtime.new_options();
  for (const fs::path& library : libraries) {
    std::error_code ignored;
    if (!fs::exists(library, ignored)) throw Error(ErrorCode::FileMissing, said_of(library) + ": no such file");
    if (!fs::is_regular_file(library, ignored)) throw Error(ErrorCode::Library, said_of(library) + ": not a file");
    try_in_copy(runtime, options.get(), library);
    load_and_register(runtime, options.get(), library);
  }
  return options;
}

void refuse_custom_operator(const Runtime& runtime, const onnx::ModelProto& proto, const std::string& path,
                            const std::string& refusal) {
  for_each_graph(proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      // "test.ops:Twist(-1) is not a registered function/op"
      if (of_onnx(node) || refusal.find(fmt::format("{}:{}(", node.domain(), node.op_type())) == std::string::npos) {
        continue;
      }
      const std::vector<fs::path>& libraries = runtime.operator_libraries();
      std::vector<std::string> names;
      for (const fs::path& library : libraries) names.push_back(library.filename().string());
      refuse(ErrorCode::RuntimeFails, path,
             fmt::format("node '{}': ONNX Runtime {} has no operator '{}' of the domain '{}'", printable(node.name()),
                         runtime.version(), printable(node.op_type()), printable(node.domain())),
             libraries.empty() ? "‹custom-ops› LIB.so loads the library that has it"
                               : fmt::format("‹custom-ops› LIB.so loads the library that has it; not in {}",
                                             printable(list_some(names))));
    }
  });
}

}  // namespace vernier
