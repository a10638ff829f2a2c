#include "io/json_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "base/base64.h"
#include "base/text.h"
#include "io/npy.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr std::size_t kStep = 4;
// Divides by three, so that the text of one piece can follow the other's.
constexpr std::size_t kPiece = 3 * (std::size_t{1} << 18U);

std::string line_start(std::size_t indent) { return "\n" + std::string(indent, ' '); }

std::string header_of(const NamedTensor& array, const std::string& what) {
  if (auto header = npy_header(array.tensor.dtype(), array.tensor.shape())) return *std::move(header);
  throw Error(ErrorKind::Input,
              fmt::format("{} '{}' is {}, a type that NumPy does not have: files of saved data cannot hold it", what,
                          printable(array.name), dtype_name(array.tensor.dtype())),
              "a Cast to float32 behind it, in the model, keeps every value");
}

void put_base64(const TextSink& out, const std::string& header, std::span<const std::byte> data) {
  // The header, and as many bytes of data as make its size divide by three.
  const std::size_t borrowed = std::min(data.size(), (3 - header.size() % 3) % 3);
  std::vector<std::byte> start(header.size() + borrowed);
  std::copy(header.begin(), header.end(), reinterpret_cast<char*>(start.data()));
  std::copy_n(data.begin(), borrowed, start.begin() + static_cast<std::ptrdiff_t>(header.size()));
  std::string text;
  append_base64(start, text);
  out(text);
  for (std::size_t at = borrowed; at < data.size(); at += kPiece) {
    text.clear();
    append_base64(data.subspan(at, std::min(kPiece, data.size() - at)), text);
    out(text);
  }
}

void put_array(const TextSink& out, const NamedTensor& array, std::size_t indent, const std::string& what) {
  const std::string header = header_of(array, what);
  out(fmt::format("{{{}\"array\": \"", line_start(indent + kStep)));
  put_base64(out, header, array.tensor.bytes());
  out(fmt::format("\",{}\"polygraphy_class\": \"ndarray\"{}}}", line_start(indent + kStep), line_start(indent)));
}

// A dictionary of arrays; `put` writes one, at the indentation it is given.
void put_arrays(const TextSink& out, const std::vector<NamedTensor>& arrays, std::size_t indent,
                const std::function<void(const NamedTensor&, std::size_t)>& put) {
  if (arrays.empty()) return out("{}");
  out("{");
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    out(fmt::format("{}{}{}: ", i == 0 ? "" : ",", line_start(indent + kStep), json_quoted(arrays[i].name)));
    put(arrays[i], indent + kStep);
  }
  out(line_start(indent) + "}");
}

// The code point at `text[at]`, which is moved behind it; U+FFFD for one byte that is no UTF-8.
std::uint32_t next_code_point(std::string_view text, std::size_t& at) {
  constexpr std::uint32_t kReplacement = 0xFFFD;
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::uint32_t first = byte(at++);
  if (first < 0x80) return first;
  const std::size_t more = first >= 0xF0 && first < 0xF5   ? 3
                           : first >= 0xE0 && first < 0xF0 ? 2
                           : first >= 0xC2 && first < 0xE0 ? 1
                                                           : 0;
  if (more == 0 || at + more > text.size()) return kReplacement;
  std::uint32_t point = first & (0x3FU >> more);
  for (std::size_t k = 0; k < more; ++k) {
    if ((byte(at + k) & 0xC0U) != 0x80U) return kReplacement;
    point = point << 6U | (byte(at + k) & 0x3FU);
  }
  // Overlong forms, halves of surrogate pairs, and what lies above Unicode.
  constexpr std::array<std::uint32_t, 4> kLeast{0, 0x80, 0x800, 0x10000};
  if (point < kLeast[more] || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) return kReplacement;
  at += more;
  return point;
}

}  // namespace

std::string json_quoted(std::string_view text) {
  constexpr std::string_view kShort = "\"\"\\\\\bb\ff\nn\rr\tt";  // pairs: character, letter behind the backslash
  std::string quoted = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::uint32_t point = next_code_point(text, at);
    std::size_t pair = 0;
    while (pair < kShort.size() && static_cast<std::uint32_t>(kShort[pair]) != point) pair += 2;
    if (pair < kShort.size()) {
      quoted += {'\\', kShort[pair + 1]};
    } else if (point >= 0x20 && point < 0x7F) {
      quoted += static_cast<char>(point);
    } else if (point < 0x10000) {
      quoted += fmt::format("\\u{:04x}", point);
    } else {
      quoted += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((point - 0x10000) >> 10U), 0xDC00 + (point & 0x3FFU));
    }
  }
  return quoted + "\"";
}

std::string json_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  std::array<char, 32> buffer;
  char* const begin = buffer.data();
  char* end = std::to_chars(begin, begin + buffer.size(), value, std::chars_format::scientific).ptr;
  const std::string_view text(begin, static_cast<std::size_t>(end - begin));
  // "[-]d[.ddd]e+xx"; Python takes the plain form for exponents from -4 to 15, and ends whole numbers in ".0".
  const std::size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), text.data() + text.size(), exponent);
  if (exponent < -4 || exponent > 15) return std::string(text);
  end = std::to_chars(begin, begin + buffer.size(), value, std::chars_format::fixed).ptr;
  std::string plain(begin, end);
  return plain.find('.') == std::string::npos ? plain + ".0" : plain;
}

void put_iteration(const TextSink& out, const Iteration& iteration, const std::string& runner) {
  const std::string line = line_start(kIterationIndent + kStep);
  out(fmt::format("{{{}\"outputs\": ", line));
  put_arrays(out, iteration.outputs, kIterationIndent + kStep, [&](const NamedTensor& output, std::size_t indent) {
    out(fmt::format("{{{}\"values\": ", line_start(indent + kStep)));
    put_array(out, output, indent + kStep, "output");
    out(fmt::format(",{}\"polygraphy_class\": \"LazyArray\"{}}}", line_start(indent + kStep), line_start(indent)));
  });
  out(fmt::format(",{0}\"runtime\": {1},{0}\"runner_name\": {2},{0}\"polygraphy_class\": \"IterationResult\"{3}}}",
                  line, iteration.seconds ? json_number(*iteration.seconds) : "null", json_quoted(runner),
                  line_start(kIterationIndent)));
}

void put_sample(const TextSink& out, const std::vector<NamedTensor>& inputs, std::size_t indent) {
  put_arrays(out, inputs, indent,
             [&](const NamedTensor& input, std::size_t at) { put_array(out, input, at, "input"); });
}

void put_npy(const TextSink& out, const NamedTensor& array, const std::string& what) {
  out(header_of(array, what));
  const std::span<const std::byte> bytes = array.tensor.bytes();
  out({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace vernier
