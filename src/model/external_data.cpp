#include "model/external_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/text.h"
#include "model/type_protos.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse_data(const onnx::TensorProto& proto, const std::string& why) {
  throw Error(ErrorCode::ExternalData, fmt::format("external data of tensor '{}': {}", printable(proto.name()), why));
}

std::uint64_t byte_number(const onnx::TensorProto& proto, const onnx::StringStringEntryProto& entry) {
  const std::string& text = entry.value();
  if (text.empty() || text.size() > 18 ||
      !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) {
    refuse_data(proto, fmt::format("{} is '{}', not a number of bytes", entry.key(), printable(text)));
  }
  return std::stoull(text);
}

}  // namespace

ExternalData::ExternalData(fs::path folder, const fs::path& model) : folder_(std::move(folder)) {
  if (fs::is_symlink(fs::symlink_status(model))) behind_link_ = fs::weakly_canonical(model).parent_path();
}

Tensor ExternalData::read(const onnx::TensorProto& proto) {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
  std::string checksum;
  for (const onnx::StringStringEntryProto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = byte_number(proto, entry);
    if (entry.key() == "length") length = byte_number(proto, entry);
    if (entry.key() == "checksum") checksum = entry.value();
  }
  const std::shared_ptr<const MappedFile>& file = open(proto, location);
  compare_checksum(proto, location, *file, std::move(checksum));
  const Shape shape(proto.dims().begin(), proto.dims().end());
  const auto dtype = static_cast<Dtype>(proto.data_type());
  const std::size_t byte_size =
      (static_cast<std::size_t>(element_count(shape)) * static_cast<std::size_t>(dtype_bits(dtype)) + 7) / 8;
  if (dtype_bits(dtype) == 0) refuse_data(proto, unread_type_text(proto.data_type()));
  if (length && *length != byte_size) {
    refuse_data(proto, fmt::format("shape {} of {} needs {} bytes, the model says {}", shape_text(shape),
                                   dtype_name(dtype), byte_size, *length));
  }
  const std::span<const std::byte> bytes = file->bytes();
  if (offset > bytes.size() || byte_size > bytes.size() - offset) {
    refuse_data(proto, fmt::format("bytes {} to {} are wanted of '{}', which has {}", offset, offset + byte_size,
                                   printable(location), bytes.size()));
  }
  const std::shared_ptr<const std::byte> start(file, bytes.data() + offset);
  return {dtype, shape, start};
}

std::vector<fs::path> ExternalData::files() const {
  std::vector<fs::path> paths;
  for (const auto& [location, file] : files_) paths.push_back(*folder_ / location);
  return paths;
}

void ExternalData::add_to(Sha256& hash, const Progress& progress) const {
  constexpr std::size_t kStep = std::size_t{64} << 20U;
  std::size_t total = 0;
  for (const auto& [location, file] : files_) total += file->bytes().size();
  WeightsProgress hashed(progress, "reading the weights, MB", total);
  for (const auto& [location, file] : files_) {
    for (auto rest = file->bytes(); !rest.empty(); rest = rest.subspan(std::min(kStep, rest.size()))) {
      const auto step = rest.first(std::min(kStep, rest.size()));
      hash.update(step);
      hashed.add(step.size());
    }
  }
}

void ExternalData::compare_checksum(const onnx::TensorProto& proto, const std::string& location, const MappedFile& file,
                                    std::string wanted) {
  constexpr std::string_view kHexDigits = "0123456789abcdefABCDEF";
  if (wanted.size() != 40 || wanted.find_first_not_of(kHexDigits) != std::string::npos) return;
  std::ranges::transform(wanted, wanted.begin(),
                         [](char c) { return c >= 'A' && c <= 'F' ? char(c + ('a' - 'A')) : c; });
  std::string& found = sha1_[location];
  if (found.empty()) found = sha1_of(file.bytes());
  if (found == wanted) return;
  refuse_data(proto, fmt::format("'{}' is damaged or of another model: its SHA1 checksum is {}, the model says {}",
                                 printable(location), found, wanted));
}

const std::shared_ptr<const MappedFile>& ExternalData::open(const onnx::TensorProto& proto,
                                                            const std::string& location) {
  const auto known = files_.find(location);
  if (known != files_.end()) return known->second;
  if (location.empty()) refuse_data(proto, "the model names no file");
  if (!folder_) {
    refuse_data(proto, fmt::format("they are in '{}', and the model is in memory, which has no folder to look in",
                                   printable(location)));
  }
  const fs::path relative(location);
  const fs::path root = fs::weakly_canonical(folder_->empty() ? fs::path(".") : *folder_);
  const fs::path full = fs::weakly_canonical(root / relative);
  // Symbolic links are followed first, so a link that leaves the folder is caught too.
  const auto lies_in = [&](const fs::path& folder) {
    return std::mismatch(folder.begin(), folder.end(), full.begin(), full.end()).first == folder.end();
  };
  if (relative.is_absolute() || !(lies_in(root) || (!behind_link_.empty() && lies_in(behind_link_)))) {
    refuse_data(proto, fmt::format("'{}' lies outside the model's folder", printable(location)));
  }
  if (!fs::exists(full)) {
    refuse_data(proto, fmt::format("'{}' is missing in {}", printable(location), printable(root.string())));
  }
  return files_.emplace(location, MappedFile::open(full)).first->second;
}

}  // namespace vernier
