// One kind of input file behind SampleSource. A reader only finds arrays and says which input each is for; that names,
// types, shapes and values are what the network wants is checked once for all kinds, in open_samples.cpp.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {

/// The arrays of one sample as found, by input name, and the file that messages should name.
struct FoundSample {
  std::map<std::string, Tensor> arrays;
  std::string where;
};

class ArrayReader {
 public:
  virtual ~ArrayReader() = default;
  virtual std::size_t size() const = 0;
  /// Sample `index` < size(). Safe to call from several threads. Takes memory for this sample only.
  virtual FoundSample read(std::size_t index) const = 0;
  /// Whether this is random data, and the words for it; empty for files, which are described by their name.
  virtual std::string random_description() const { return {}; }
  virtual bool reads_images() const { return false; }
  virtual std::vector<std::string> skipped_images() const { return {}; }
};

/// What --data points at, looked at once.
struct Location {
  std::filesystem::path path;
  std::string text;  // for messages: printable, as the user gave it
  bool is_folder = false;
  std::string head;                            // a file's first bytes, at most 16
  std::vector<std::filesystem::path> entries;  // a folder's entries, sorted by name
};

struct OpenRequest {
  const SourceOptions& options;
  const std::vector<InputInfo>& inputs;
  const Location& location;
};

/// Inputs that the files must hold: all but those that carry state.
std::vector<InputInfo> fed_inputs(const SourceOptions& options, const std::vector<InputInfo>& inputs);

/// The one input that must be in the files, for kinds that hold one array a sample.
/// Errors: Input, naming the inputs, when there is not exactly one.
InputInfo only_input(const OpenRequest& request, const std::string& kind);

/// A path's extension in lower case, with the dot.
std::string lower_extension(const std::filesystem::path& path);

/// Entries of a folder with one of these extensions, written as lower_extension() gives them.
std::vector<std::filesystem::path> entries_with(const Location& location, std::span<const std::string_view> extensions);

/// One pair for each kind, each in the file of its name (npy_reader.cpp, ...): whether `location` is of this kind, and
/// the reader. Opening checks what holds for the file as a whole; each sample is checked when it is read.
bool is_npy(const Location& location);
std::unique_ptr<ArrayReader> open_npy(const OpenRequest& request);
bool is_npz(const Location& location);
std::unique_ptr<ArrayReader> open_npz(const OpenRequest& request);
bool is_npz_folder(const Location& location);
std::unique_ptr<ArrayReader> open_npz_folder(const OpenRequest& request);
bool is_images(const Location& location);
std::unique_ptr<ArrayReader> open_images(const OpenRequest& request);
bool is_saved_inputs(const Location& location);
std::unique_ptr<ArrayReader> open_saved_inputs(const OpenRequest& request);
bool is_onnx_test_data(const Location& location);
std::unique_ptr<ArrayReader> open_onnx_test_data(const OpenRequest& request);

/// A data loader script: known by how it is named, not by what is there. script_location() of the options' location
/// must name one. Takes as long as the script does; it has ended when this returns.
std::unique_ptr<ArrayReader> open_script(const OpenRequest& request);

/// Samples and arrays of the caller's, in memory.
inline constexpr const char* kArraysInMemory = "arrays in memory";
std::unique_ptr<ArrayReader> open_given(std::shared_ptr<const SampleSource> source);
/// Errors: Input, as a .npz that holds them: names, shapes, numbers of samples.
std::unique_ptr<ArrayReader> open_arrays(const SourceOptions& options, const std::vector<InputInfo>& inputs);

/// Random data, for when there is no location.
std::unique_ptr<ArrayReader> open_random(const SourceOptions& options, const std::vector<InputInfo>& inputs);

}  // namespace vernier
