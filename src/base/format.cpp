#include "vernier/format.h"

#include <array>
#include <cstddef>

namespace vernier {
namespace {

struct FormatRow {
  Format format;
  std::string_view name;
  int bits;
  bool scaled;
};

// A new format is one line here plus its grid in src/numerics/round.cpp.
constexpr std::array<FormatRow, 8> kFormats{{
    {Format::Float32, "float32", 32, false},
    {Format::Float16, "float16", 16, false},
    {Format::BFloat16, "bfloat16", 16, false},
    {Format::Float8E4M3FN, "float8e4m3fn", 8, true},
    {Format::Float8E5M2, "float8e5m2", 8, true},
    {Format::Int8, "int8", 8, true},
    {Format::UInt8, "uint8", 8, true},
    {Format::Int4, "int4", 4, true},
}};

struct ShortForm {
  std::string_view name;
  Format format;
};

constexpr std::array<ShortForm, 6> kShortForms{{
    {"fp32", Format::Float32},
    {"float", Format::Float32},
    {"fp16", Format::Float16},
    {"half", Format::Float16},
    {"bf16", Format::BFloat16},
    {"fp8", Format::Float8E4M3FN},
}};

const FormatRow& row_of(Format format) {
  for (const FormatRow& row : kFormats) {
    if (row.format == format) return row;
  }
  return kFormats.front();
}

}  // namespace

std::string_view format_name(Format format) { return row_of(format).name; }

std::span<const std::string_view> words_of(Format /*which*/) {
  static constexpr auto kNames = [] {
    std::array<std::string_view, kFormats.size()> names;
    for (const FormatRow& row : kFormats) names[static_cast<std::size_t>(row.format)] = row.name;
    return names;
  }();
  return kNames;
}

std::optional<Format> parse_format(std::string_view name) {
  for (const FormatRow& row : kFormats) {
    if (row.name == name) return row.format;
  }
  for (const ShortForm& form : kShortForms) {
    if (form.name == name) return form.format;
  }
  return std::nullopt;
}

bool needs_scale(Format format) { return row_of(format).scaled; }

int bits_of(Format format) { return row_of(format).bits; }

}  // namespace vernier
