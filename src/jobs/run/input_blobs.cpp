#include "jobs/run/input_blobs.h"

#include <fmt/format.h>

#include <set>
#include <string>
#include <system_error>

#include "base/file.h"
#include "base/text.h"
#include "jobs/run/file_part.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {

void InputBlobs::add(std::size_t sample, const std::vector<NamedTensor>& inputs) const {
  const std::filesystem::path folder = folder_ / fmt::format("{:010}", sample);
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed)
    throw Error(ErrorCode::FileUnwritable, fmt::format("{}: {}", printable(folder.string()), failed.message()));
  std::set<std::string> names;
  for (const NamedTensor& input : inputs) {
    const std::string name = file_part(input.name) + ".bin";
    if (!names.insert(name).second) {
      throw Error(ErrorCode::FileUnwritable,
                  fmt::format("input '{}': another input has the file name {}", printable(input.name), name),
                  "‹save-inputs› FILE keeps the names");
    }
    const auto bytes = input.tensor.bytes();
    replace_file(folder / name, std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  }
}

}  // namespace vernier
