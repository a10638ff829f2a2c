// Bytes as every kind of input file. The first byte chooses the kind; the rest is the file. Only vernier::Error may
// come out, never an Internal one, and never a crash or memory out of proportion.
#include <unistd.h>
#include <zip.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "fuzz_target.h"
#include "vernier/error.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace {

namespace fs = std::filesystem;
using vernier::Dtype;
using vernier::InputInfo;

// A folder of this process, removed at its end.
struct Scratch {
  fs::path path = fs::temp_directory_path() / ("vernier_fuzz_" + std::to_string(::getpid()));
  Scratch() { fs::create_directories(path / "set"); }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

const fs::path& scratch() {
  static const Scratch kScratch;
  return kScratch.path;
}

void write(const fs::path& path, const std::string& bytes) { std::ofstream(path, std::ios::binary) << bytes; }

void read_all(const fs::path& path, const std::vector<InputInfo>& inputs) {
  vernier::SourceOptions options;
  options.location = path.string();
  options.image.geometry = "stretch:8x8";
  options.split_batch = true;
  options.limit = 4;
  try {
    const auto source = open_samples(options, inputs);
    for (std::size_t i = 0; i < source->size(); ++i) source->at(i);
  } catch (const vernier::Error& error) {
    if (error.kind() == vernier::ErrorKind::Internal) {
      std::fprintf(stderr, "internal error: %s\n", error.what());
      std::abort();
    }
  }
}

std::string npy(const std::string& dictionary, std::size_t data) {
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(dictionary.size());
  return file + std::string(1, '\0') + dictionary + std::string(data, '\1');
}

std::string zip_of(const std::vector<std::pair<std::string, std::string>>& members, bool deflate) {
  const fs::path path = scratch() / "seed.zip";
  int code = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  for (const auto& [name, bytes] : members) {
    zip_source_t* source = zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
    const auto index = static_cast<zip_uint64_t>(zip_file_add(archive, name.c_str(), source, 0));
    zip_set_file_compression(archive, index, deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
  }
  zip_close(archive);
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

std::vector<std::string> fuzz_seeds() {
  const std::string f4 = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1, 2), }\n", 16);
  const std::string one = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2)}\n", 8);
  const std::string i8 = npy("{'descr': '<i8', 'fortran_order': False, 'shape': (2,)}\n", 16);
  // TensorProto: dims 1 and 2, float, raw data of 8 bytes; and the same with packed float_data.
  const std::string raw("\x08\x01\x08\x02\x10\x01\x4A\x08\0\0\0\0\0\0\0\0", 16);
  const std::string packed("\x0A\x02\x01\x02\x10\x01\x22\x08\0\0\0\0\0\0\0\0", 16);
  const std::string json =
      R"([{"x": {"array": "k05VTVBZAQA6AHsnZGVzY3InOiAnPGY0JywgJ2ZvcnRyYW5fb3JkZXInOiBGYWxzZSwgJ3NoYXBlJzogKDEsIDIpfQoBAQEBAQEBAQ==", "polygraphy_class": "ndarray"}}])";
  const std::string bmp(
      "BM\x3A\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\x18\0\0\0\0\0\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
      "\0\0\0\0\0\1\2\3\0",
      58);
  return {"0" + f4,
          "0" + one,
          "1" + f4,
          "0" + zip_of({{"x.npy", f4}}, true),
          "0" + zip_of({{"sample_0.npy", one}, {"sample_1.npy", one}}, false),
          "1" + zip_of({{"x.npy", f4}, {"ids.npy", i8}}, true),
          "0" + json,
          "1" + json,
          "2" + raw,
          "2" + packed,
          "3" + bmp};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::vector<InputInfo> one{{"x", Dtype::Float32, {1, -1}, 0}};
  const std::vector<InputInfo> two{{"x", Dtype::Float32, {-1, 2}, 0}, {"ids", Dtype::Int64, {}, 0}};
  switch (data[0] % 4) {
    case 0:
      write(scratch() / "file", bytes);
      read_all(scratch() / "file", one);
      break;
    case 1:
      write(scratch() / "file", bytes);
      read_all(scratch() / "file", two);
      break;
    case 2:
      write(scratch() / "set" / "input_0.pb", bytes);
      read_all(scratch() / "set", one);
      break;
    default:
      write(scratch() / "image.bmp", bytes);
      read_all(scratch() / "image.bmp", {{"x", Dtype::Float32, {1, 3, 8, 8}, 0}});
  }
  return 0;
}
