#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/mapped_file.h"
#include "base/refuse.h"
#include "base/text.h"
#include "io/saved_data.h"
#include "vernier/error_code.h"
#include "vernier/runs.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

}  // namespace

SavedData open_saved_data(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return open_saved_folder(path);
  const auto file = MappedFile::open(path);
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  if (text.starts_with("PK")) return open_saved_npz(path);
  if (text.starts_with("\x93NUMPY")) return open_saved_npy(path);
  // Every pickle since Python 2.3 starts with this byte and its protocol's number.
  if (text.size() > 1 && text[0] == '\x80' && text[1] > 1 && text[1] < 16) {
    refuse(
        ErrorCode::SampleFile, path, "is a Python pickle, which can run any program when it is opened",
        "where it comes from, save it as JSON: polygraphy run ... --save-outputs NAME.json; or, if you trust the file: "
        "python3 -c \"import pickle, sys; from polygraphy.json import save_json; "
        "save_json(pickle.load(open(sys.argv[1], 'rb')), sys.argv[2])\" OLD NEW.json");
  }
  // The first field of an ONNX file is its IR version, a small number.
  if (text.size() > 2 && text[0] == '\x08' && text[1] > 0 && text[1] < 32) {
    refuse(ErrorCode::SampleFile, path, "is an ONNX model, not saved data",
           "‹vernier inspect model› prints what is in it");
  }
  return open_saved_json(path);
}

std::vector<std::unique_ptr<Run>> open_runs(const fs::path& path) {
  SavedData data = open_saved_data(path);
  if (data.kind == SavedData::Kind::Inputs) {
    refuse(ErrorCode::SampleFile, path, "holds saved inputs, not results",
           "‹vernier run --save-inputs› writes inputs, ‹vernier run --save-outputs› results");
  }
  if (data.kind == SavedData::Kind::OneArray) {
    refuse(ErrorCode::SampleFile, path, "is one array, and does not name its output",
           "save it under the output's name: numpy.savez('results.npz', OUTPUT=array)");
  }
  if (data.runs.empty()) refuse(ErrorCode::SampleFile, path, "holds no runs");
  for (const auto& run : data.runs) {
    if (run->size() == 0)
      refuse(ErrorCode::SampleFile, path,
             fmt::format("run '{}' has no iterations: there is nothing in it", printable(run->name())));
  }
  return std::move(data.runs);
}

}  // namespace vernier
