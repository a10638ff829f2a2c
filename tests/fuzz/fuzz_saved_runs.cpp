// Bytes as a file of saved results, inputs or arrays. Only vernier::Error may come out, never an Internal one, and
// never a crash or memory out of proportion. What is read can be written, and reads back the same.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz_target.h"
#include "io/array_text.h"
#include "io/saved_data.h"
#include "vernier/error.h"
#include "vernier/runs.h"
#include "vernier/tensor.h"

namespace {

namespace fs = std::filesystem;
using namespace vernier;

// A folder of this process, removed at its end.
struct Scratch {
  fs::path path = fs::temp_directory_path() / ("vernier_fuzz_saved_" + std::to_string(::getpid()));
  Scratch() { fs::create_directories(path); }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

const fs::path& scratch() {
  static const Scratch kScratch;
  return kScratch.path;
}

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_again(const SavedData& data, const fs::path& path) {
  std::vector<std::string> names;
  for (const auto& run : data.runs) names.push_back(run->name());
  fs::remove(path);
  RunWriter writer(path, names);
  for (std::size_t run = 0; run < data.runs.size(); ++run) {
    for (std::size_t i = 0; i < data.runs[run]->size(); ++i) {
      const Iteration iteration = data.runs[run]->at(i);
      for (const NamedTensor& output : iteration.outputs) array_text(output.tensor, {});
      writer.add(run, iteration);
    }
  }
  writer.finish();
}

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  const std::string array =
      R"({"array": "k05VTVBZAQA6AHsnZGVzY3InOiAnPGY0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDEsIDIpfQoBAQEBAQEBAQ==", "polygraphy_class": "ndarray"})";
  const std::string lazy = R"({"values": )" + array + R"(, "polygraphy_class": "LazyArray"})";
  const std::string iteration =
      R"({"outputs": {"y": )" + lazy + R"(, "a\u00e4\n": )" + array +
      R"(}, "runtime": 0.008432149887084961, "runner_name": "r", "polygraphy_class": "IterationResult"})";
  return {R"({"lst": [["r", [)" + iteration + ", " + iteration + R"(]], ["s", [)" + iteration +
              R"(]]], "polygraphy_class": "RunResults"})",
          R"({"new": [NaN, -Infinity, {"a": [true, null, 1e5]}], "polygraphy_class": "RunResults", "lst": [["r", [)" +
              iteration + "]]]}",
          R"({"lst": [], "__polygraphy_encoded_RunResults": "polygraphy_serialized_json_type"})",
          R"([{"x": )" + array + R"(}, {"x": )" + lazy + "}]",
          R"({"x": )" + array + "}",
          std::string("\x93NUMPY\x01\x00\x3A\x00", 10) + "{'descr': '<f2', 'fortran_order': False, 'shape': (1, 2)}\n" +
              "abcd"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fs::path file = scratch() / "file";
  fs::remove(file);  // a file system may wait for the disk when what is there is replaced
  std::ofstream(file, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  try {
    const SavedData read = open_saved_data(file);
    write_again(read, scratch() / "first.json");
    write_again(open_saved_data(scratch() / "first.json"), scratch() / "second.json");
    require(bytes_of(scratch() / "first.json") == bytes_of(scratch() / "second.json"), "written differently again");
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Internal) std::fprintf(stderr, "internal error: %s\n", error.what());
    require(error.kind() != ErrorKind::Internal, "only the input's faults are expected");
  }
  return 0;
}
