#include "console/output_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"
#include "console/command_line.h"
#include "model/external_files.h"
#include "options/syntax.h"
#include "scripts/script_location.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier::cli {
namespace {

namespace fs = std::filesystem;

struct Named {
  std::string option, path;
  bool beside = false;  // no value of the option, but read with it
};

/// The paths that a value may hold: itself, FILE of FILE:FUNC, and PATH of NAME:PATH.
std::vector<std::string> paths_in(const std::string& value) {
  std::vector<std::string> paths{value};
  if (const std::size_t last = value.rfind(':'); last != std::string::npos) {
    paths.push_back(value.substr(0, last));
    paths.push_back(value.substr(value.find(':') + 1));
  }
  return paths;
}

bool is_file(const std::string& path) {
  std::error_code absent;
  return fs::is_regular_file(path, absent);
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code absent;
  if (fs::equivalent(a, b, absent)) return !fs::is_directory(a, absent);
  return false;
}

/// The same file, or neither is there yet and both would make it. Folders are shared: their files have names.
bool same_place(const std::string& a, const std::string& b) {
  std::error_code failed;
  if (fs::exists(a, failed) || fs::exists(b, failed)) return same_file(a, b);
  return fs::weakly_canonical(a, failed) == fs::weakly_canonical(b, failed);
}

/// What is read of `path` besides itself: the weights beside a model.
std::vector<std::string> read_with(const std::string& path) {
  if (!is_file(path)) return {};
  std::vector<std::string> files;
  for (const fs::path& file : external_files(path)) files.push_back(file.string());
  return files;
}

/// Files are moved from there, with all that lies in it.
bool moves(const Named& output, const Named& input) {
  if (output.option != "--artifacts") return false;
  std::error_code absent;
  const fs::path from = fs::weakly_canonical(output.path, absent);
  for (fs::path at = fs::weakly_canonical(input.path, absent); at.has_relative_path(); at = at.parent_path()) {
    if (at == from) return true;
  }
  return false;
}

/// A replay may be gone on with: the loop of checks looks that it is one before it writes.
bool goes_on(const Named& output, const Named& input) {
  return output.option == "--save-debug-replay" && input.option == "--load-debug-replay";
}

/// What each iteration writes anew and the check's verdict sorts.
bool sorts(const Named& output, const Named& other) {
  const auto of_an_iteration = [](const Named& file) {
    return file.option == "--save-tactics" || file.option == "--save-timing-cache" || file.option == "--iter-info";
  };
  return (output.option == "--artifacts" && of_an_iteration(other)) ||
         (other.option == "--artifacts" && of_an_iteration(output));
}

/// These commands write one model when they have read theirs. Who names it twice wants to replace it.
bool edits_in_place(const CLI::App& app, const Named& output, const Named& input) {
  const std::string command = full_name(app);
  const bool writes_one_model =
      command == "vernier convert" || command == "vernier quantize" || command.starts_with("vernier surgeon ");
  return writes_one_model && output.option == "--output" && input.option == "MODEL" && !input.beside &&
         !script_location(input.path);
}

}  // namespace

void keep_inputs_safe(const CLI::App& app) {
  std::vector<Named> written;
  std::vector<Named> read;
  for (const GivenOption& option : given_options(app)) {
    for (const std::string& value : option.values) {
      if (option.writes && value == "-") {
        throw Error(ErrorCode::BadValue, fmt::format("{} -: not a file", option.name),
                    "standard output is /dev/stdout");
      }
      if (option.writes) {
        written.push_back({option.name, value});
      } else {
        for (std::string& path : paths_in(value)) read.push_back({option.name, std::move(path)});
      }
    }
  }
  // Only what is there can be lost: seldom is a model looked into here.
  if (std::ranges::any_of(written, [](const Named& output) { return is_file(output.path); })) {
    const std::vector<Named> named = read;
    for (const Named& input : named) {
      for (std::string& path : read_with(input.path)) read.push_back({input.option, std::move(path), true});
    }
  }
  for (const Named& output : written) {
    for (const Named& input : read) {
      if (goes_on(output, input) || edits_in_place(app, output, input)) continue;
      if (!(same_file(output.path, input.path) || moves(output, input))) continue;
      throw Error(ErrorCode::WouldOverwrite,
                  fmt::format("{} would be overwritten by {}, but this command reads it ({})", printable(output.path),
                              output.option, input.option),
                  fmt::format("choose another file for {}", output.option));
    }
    for (const Named& other : written) {
      if (&other == &output || other.option == output.option || sorts(output, other)) continue;
      if (!same_place(output.path, other.path)) continue;
      throw Error(ErrorCode::WouldOverwrite,
                  fmt::format("{} and {} would both write {}", output.option, other.option, printable(output.path)),
                  "choose a file for each");
    }
  }
}

}  // namespace vernier::cli
