// Writers of the small files that tests put into their folders.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "temp_folder.h"
#include "vernier/error.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {

void write_file(const std::filesystem::path& path, const std::string& content);

/// A version 1 .npy: header for `descr` and the text of the shape ("(2, 3)"), then `data`.
std::string npy_of(const std::string& descr, const std::string& shape, const std::string& data,
                   const std::string& fortran_order = "False");
/// float32 / int64 arrays.
std::string npy_of(const Shape& shape, const std::vector<float>& values);
std::string npy_of_int64(const Shape& shape, const std::vector<std::int64_t>& values);

/// A zip archive of these members, deflated or stored.
void write_zip(const std::filesystem::path& path, const std::map<std::string, std::string>& members, bool deflate);

std::string base64_of(const std::string& bytes);

/// Names of what a folder holds, in order.
std::vector<std::string> names_in(const std::filesystem::path& folder);

/// 0, 1, 2, ...
std::vector<float> counting(std::size_t count);

/// The Error that `action` throws; a test failure and an Internal error when it throws none.
Error error_of(const std::function<void()>& action);

SourceOptions from(const std::filesystem::path& path);
InputInfo float_input(const std::string& name, Shape shape);

/// A command that needs Python with these modules: its exit status, or nullopt when there is no such Python.
std::optional<int> run_python(const std::string& modules, const std::string& script, const std::string& arguments);

/// Folder with the shared networks and data ($VERNIER_SHARED, or next to the repository); nullopt when absent.
std::optional<std::filesystem::path> shared_folder();

/// Skips the test with the reason, or fails it on CI, where everything must be there.
#define VERNIER_SKIP_OR_FAIL(reason)                      \
  do {                                                    \
    if (std::getenv("CI") != nullptr) FAIL() << (reason); \
    GTEST_SKIP() << (reason);                             \
  } while (false)

}  // namespace vernier
