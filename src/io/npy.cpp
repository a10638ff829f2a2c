#include "io/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#include "base/refuse.h"
#include "base/text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

constexpr std::size_t kHeaderLimit = std::size_t{64} * 1024;
constexpr std::string_view kMagic = "\x93NUMPY";
// More dimensions than NumPy 2 itself allows.
constexpr std::size_t kMaxRank = 64;
constexpr std::size_t kVersion1Preamble = 10;

struct DescrRow {
  std::string_view descr;
  Dtype dtype;
};

constexpr std::array<DescrRow, 12> kDescrs{{
    {"f4", Dtype::Float32},
    {"f8", Dtype::Float64},
    {"f2", Dtype::Float16},
    {"u1", Dtype::UInt8},
    {"i1", Dtype::Int8},
    {"u2", Dtype::UInt16},
    {"i2", Dtype::Int16},
    {"u4", Dtype::UInt32},
    {"i4", Dtype::Int32},
    {"u8", Dtype::UInt64},
    {"i8", Dtype::Int64},
    {"b1", Dtype::Bool},
}};

}  // namespace

Dtype npy_dtype(std::string_view descr, const std::string& where) {
  if (descr.size() == 3) {
    for (const DescrRow& row : kDescrs) {
      if (descr.substr(1) != row.descr) continue;
      const bool one_byte = dtype_bits(row.dtype) == 8;
      if (descr[0] == '<' || descr[0] == '|' || (one_byte && descr[0] == '>')) return row.dtype;
      if (descr[0] == '>') {
        refuse(ErrorCode::SampleFile, where, fmt::format("is big-endian ('{}')", descr),
               "in numpy: a.astype(a.dtype.newbyteorder('<'))");
      }
    }
  }
  if (descr.starts_with("|O")) {
    refuse(ErrorCode::SampleFile, where, "holds Python objects (a pickle), not numbers",
           "save plain arrays: numpy.save(..., allow_pickle=False)");
  }
  refuse(ErrorCode::SampleFile, where,
         fmt::format("has the element type '{}', which no network input can take", printable(descr)));
}

namespace {

// Reads the one Python dictionary that a header holds. Not Python: only the literals that numpy writes.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& where) : text_(text), where_(where) {}

  NpyHeader parse() {
    NpyHeader header;
    bool have_descr = false;
    bool have_order = false;
    bool have_shape = false;
    bool fortran = false;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr" && !have_descr) {
        if (peek() == '[')
          refuse(ErrorCode::SampleFile, where_, "is a structured array",
                 "save each field under the name of its input in a .npz");
        header.dtype = npy_dtype(quoted(), where_);
        have_descr = true;
      } else if (key == "fortran_order" && !have_order) {
        fortran = boolean();
        have_order = true;
      } else if (key == "shape" && !have_shape) {
        header.shape = tuple();
        have_shape = true;
      } else {
        damaged();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    skip_space();
    if (at_ != text_.size() || !have_descr || !have_order || !have_shape) damaged();
    header.fortran_order = fortran && header.shape.size() > 1;
    return header;
  }

 private:
  [[noreturn]] void damaged() const { refuse(ErrorCode::SampleFile, where_, "has a damaged .npy header"); }

  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c || at_ >= text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) damaged();
  }

  std::string_view quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') damaged();
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) damaged();
    const std::string_view value = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return value;
  }

  bool boolean() {
    skip_space();
    for (const std::string_view word : {std::string_view("True"), std::string_view("False")}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return word == "True";
      }
    }
    damaged();
  }

  Shape tuple() {
    Shape shape;
    expect('(');
    while (!accept(')')) {
      shape.push_back(integer());
      if (shape.size() > kMaxRank) damaged();
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  std::int64_t integer() {
    skip_space();
    const std::size_t first = at_;
    std::int64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      if (value > (std::numeric_limits<std::int64_t>::max() - 9) / 10) damaged();
      value = value * 10 + (text_[at_] - '0');
    }
    if (at_ == first) damaged();
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long integers so
    return value;
  }

  std::string_view text_;
  const std::string& where_;
  std::size_t at_ = 0;
};

std::size_t byte_at(std::span<const std::byte> bytes, std::size_t i) { return std::to_integer<std::size_t>(bytes[i]); }

// Where the dictionary starts: the length before it takes two bytes in version 1, four in 2 and 3.
std::size_t dictionary_offset(std::span<const std::byte> start) {
  return byte_at(start, 6) == 1 ? kVersion1Preamble : kNpyPreamble;
}

}  // namespace

std::size_t npy_header_size(std::span<const std::byte> start, const std::string& where) {
  if (start.size() < kMagic.size() || std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0) {
    refuse(ErrorCode::SampleFile, where, "is not a .npy array");
  }
  if (start.size() < kNpyPreamble) refuse(ErrorCode::SampleFile, where, "is cut short");
  const std::size_t version = byte_at(start, 6);
  if (version < 1 || version > 3)
    refuse(ErrorCode::SampleFile, where, fmt::format("has .npy format version {}, known are 1 to 3", version));
  std::size_t length = byte_at(start, 8) | byte_at(start, 9) << 8;
  if (version > 1) length |= byte_at(start, 10) << 16 | byte_at(start, 11) << 24;
  if (length > kHeaderLimit)
    refuse(ErrorCode::SampleFile, where,
           fmt::format("has a .npy header of {} bytes, more than any array needs", length));
  return dictionary_offset(start) + length;
}

namespace {

// Of either order.
NpyHeader parse_any_header(std::span<const std::byte> start, const std::string& where) {
  const std::size_t size = npy_header_size(start, where);
  if (start.size() < size) refuse(ErrorCode::SampleFile, where, "is cut short");
  const std::size_t offset = dictionary_offset(start);
  NpyHeader header = HeaderParser({reinterpret_cast<const char*>(start.data()) + offset, size - offset}, where).parse();
  std::int64_t count = 0;
  try {
    count = element_count(header.shape);
  } catch (const Error& error) {
    refuse(ErrorCode::SampleFile, where, error.what());
  }
  header.data_offset = size;
  header.data_bytes = static_cast<std::size_t>(count) * static_cast<std::size_t>(dtype_bits(header.dtype) / 8);
  return header;
}

// Of either order.
NpyHeader parse_any_file(std::span<const std::byte> file, const std::string& where) {
  NpyHeader header = parse_any_header(file, where);
  const std::size_t left = file.size() - header.data_offset;
  if (left != header.data_bytes) {
    refuse(ErrorCode::SampleFile, where,
           fmt::format("its header promises {} of shape {}, {} bytes, but {} bytes follow", dtype_name(header.dtype),
                       shape_text(header.shape), header.data_bytes, left));
  }
  return header;
}

NpyHeader in_c_order(NpyHeader header, const std::string& where) {
  if (header.fortran_order) {
    refuse(ErrorCode::SampleFile, where, "is in Fortran order",
           "save it in C order: numpy.save(path, numpy.ascontiguousarray(a))");
  }
  return header;
}

// `data` has its first dimension innermost; in the tensor it is the last.
Tensor from_fortran_order(const NpyHeader& header, std::span<const std::byte> data) {
  Tensor tensor(header.dtype, header.shape);
  const std::size_t width = static_cast<std::size_t>(dtype_bits(header.dtype)) / 8;
  std::byte* out = tensor.mutable_bytes().data();
  std::vector<std::size_t> place(header.shape.size());
  for (std::size_t done = 0; done < data.size(); done += width) {
    std::size_t from = 0;
    for (std::size_t axis = place.size(); axis-- > 0;) {
      from = from * static_cast<std::size_t>(header.shape[axis]) + place[axis];
    }
    std::memcpy(out + done, data.data() + from * width, width);
    for (std::size_t axis = place.size(); axis-- > 0;) {
      if (++place[axis] < static_cast<std::size_t>(header.shape[axis])) break;
      place[axis] = 0;
    }
  }
  return tensor;
}

}  // namespace

NpyHeader parse_npy_header(std::span<const std::byte> start, const std::string& where) {
  return in_c_order(parse_any_header(start, where), where);
}

NpyHeader parse_whole_npy(std::span<const std::byte> file, const std::string& where) {
  return in_c_order(parse_any_file(file, where), where);
}

std::optional<std::string> npy_header(Dtype dtype, const Shape& shape) {
  const auto row =
      std::find_if(kDescrs.begin(), kDescrs.end(), [dtype](const DescrRow& each) { return each.dtype == dtype; });
  if (row == kDescrs.end()) return std::nullopt;
  std::string dims;
  for (const std::int64_t dim : shape) dims += fmt::format("{}{}", dims.empty() ? "" : ", ", dim);
  if (shape.size() == 1) dims += ',';
  const char order = dtype_bits(dtype) == 8 ? '|' : '<';
  std::string text =
      fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({}), }}", order, row->descr, dims);
  // NumPy leaves room for the first dimension to grow to 21 digits, then pads, with 64 spaces rather than with none.
  if (!shape.empty()) text.append(21 - fmt::formatted_size("{}", shape.front()), ' ');
  text.append(64 - (kVersion1Preamble + text.size() + 1) % 64, ' ');
  text += '\n';
  std::string header(kMagic);
  header += {'\1', '\0', static_cast<char>(text.size() & 0xFFU), static_cast<char>(text.size() >> 8U)};
  return header + text;
}

Tensor read_npy(std::span<const std::byte> file, const std::shared_ptr<const void>& owner, const std::string& where) {
  NpyHeader header = parse_any_file(file, where);
  if (header.fortran_order) return from_fortran_order(header, file.subspan(header.data_offset));
  return {header.dtype, std::move(header.shape),
          std::shared_ptr<const std::byte>(owner, file.data() + header.data_offset)};
}

}  // namespace vernier
