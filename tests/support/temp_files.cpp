#include "temp_files.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <zip.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>

#include "vernier/tensor.h"

namespace vernier {
namespace fs = std::filesystem;

void write_file(const fs::path& path, const std::string& content) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

std::string npy_of(const std::string& descr, const std::string& shape, const std::string& data,
                   const std::string& fortran_order) {
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}", descr, fortran_order, shape);
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xFF);
  file += static_cast<char>(header.size() >> 8);
  return file + header + data;
}

namespace {
template <class T>
std::string typed_npy(const std::string& descr, const Shape& shape, const std::vector<T>& values) {
  std::string text = "(";
  for (const std::int64_t dim : shape) text += fmt::format("{}, ", dim);
  std::string data(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(data.data(), values.data(), data.size());
  return npy_of(descr, text + ")", data);
}
}  // namespace

std::string npy_of(const Shape& shape, const std::vector<float>& values) { return typed_npy("<f4", shape, values); }
std::string npy_of_int64(const Shape& shape, const std::vector<std::int64_t>& values) {
  return typed_npy("<i8", shape, values);
}

void write_zip(const fs::path& path, const std::map<std::string, std::string>& members, bool deflate) {
  fs::create_directories(path.parent_path());
  int code = 0;
  zip_t* archive = zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  ASSERT_NE(archive, nullptr);
  for (const auto& [name, bytes] : members) {
    zip_source_t* source = zip_source_buffer(archive, bytes.data(), bytes.size(), 0);
    const zip_int64_t index = zip_file_add(archive, name.c_str(), source, 0);
    ASSERT_GE(index, 0);
    zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
  }
  ASSERT_EQ(zip_close(archive), 0);
}

std::string base64_of(const std::string& bytes) {
  const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) text += i + k > bytes.size() ? '=' : alphabet[group >> (18 - 6 * k) & 0x3F];
  }
  return text;
}

std::vector<float> counting(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0F);
  return values;
}

Error error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no error was thrown";
  return {ErrorKind::Internal, "no error was thrown"};
}

SourceOptions from(const fs::path& path) {
  SourceOptions options;
  options.location = path.string();
  return options;
}

InputInfo float_input(const std::string& name, Shape shape) { return {name, Dtype::Float32, std::move(shape), 0}; }

std::optional<int> run_python(const std::string& modules, const std::string& script, const std::string& arguments) {
  const std::string python = VERNIER_PYTHON;
  if (std::system(fmt::format("'{}' -c 'import {}' 2>/dev/null", python, modules).c_str()) != 0) return std::nullopt;
  const int status = std::system(fmt::format("'{}' '{}' {}", python, script, arguments).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::optional<fs::path> shared_folder() {
  const char* given = std::getenv("VERNIER_SHARED");
  const fs::path folder = given != nullptr ? given : VERNIER_SHARED_DIR;
  if (fs::is_directory(folder / "data")) return folder;
  return std::nullopt;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

}  // namespace vernier
