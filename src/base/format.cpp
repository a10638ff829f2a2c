#include "vernier/format.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/format_definition.h"

namespace vernier {
namespace {

constexpr FormatDefinition integers(Format format, std::string_view name, std::string_view title, int bits,
                                    Dtype stored, int opset, double usual_noise, CodeRange range,
                                    bool weights_alone = false) {
  return {.format = format,
          .name = name,
          .short_name = {},
          .title = title,
          .bits = bits,
          .stored = stored,
          .opset = opset,
          .usual_noise = usual_noise,
          .scaled = true,
          .weights_alone = weights_alone,
          .integers = range};
}

// A new format is one row here. Noise: 60, 42, 24, 18, 27 and 14 dB.
constexpr std::array kFormats{
    FormatDefinition{Format::Float32, "float32", "fp32", "FP32", 32, Dtype::Float32, 1, 0},
    FormatDefinition{.format = Format::Float16,
                     .name = "float16",
                     .short_name = "fp16",
                     .title = "FP16",
                     .bits = 16,
                     .stored = Dtype::Float16,
                     .opset = 7,  // broadcasting by shape, which Casts at borders rely on
                     .usual_noise = 1e-6,
                     .floats = &kFloat16},
    FormatDefinition{.format = Format::BFloat16,
                     .name = "bfloat16",
                     .short_name = "bf16",
                     .title = "BF16",
                     .bits = 16,
                     .stored = Dtype::BFloat16,
                     .opset = 13,  // Cast, MatMul, Add and most others
                     .usual_noise = 6e-5,
                     .floats = &kBFloat16},
    FormatDefinition{.format = Format::Float8E4M3FN,
                     .name = "float8e4m3fn",
                     .short_name = "fp8",
                     .title = "FP8",
                     .bits = 8,
                     .stored = Dtype::Float8E4M3FN,
                     .opset = 19,
                     .usual_noise = 4e-3,
                     .scaled = true,
                     .floats = &kFloat8E4M3FN},
    FormatDefinition{.format = Format::Float8E5M2,
                     .name = "float8e5m2",
                     .short_name = {},
                     .title = "FP8 (E5M2)",
                     .bits = 8,
                     .stored = Dtype::Float8E5M2,
                     .opset = 19,
                     .usual_noise = 1.6e-2,
                     .scaled = true,
                     .floats = &kFloat8E5M2},
    integers(Format::Int8, "int8", "INT8", 8, Dtype::Int8, 13, 2e-3, {-128, 127}),
    integers(Format::UInt8, "uint8", "UINT8", 8, Dtype::UInt8, 13, 2e-3, {0, 255}),
    integers(Format::Int4, "int4", "INT4", 4, Dtype::Int4, 21, 4e-2, {-8, 7}, /*weights_alone=*/true),
    integers(Format::UInt4, "uint4", "UINT4", 4, Dtype::UInt4, 21, 3e-2, {0, 15}, /*weights_alone=*/true),
    integers(Format::Int16, "int16", "INT16", 16, Dtype::Int16, 21, 2e-3, {-32768, 32767}),  // of its weights in int8
    integers(Format::UInt16, "uint16", "UINT16", 16, Dtype::UInt16, 21, 2e-3, {0, 65535}),
    FormatDefinition{.format = Format::NvFp4,
                     .name = "nvfp4",
                     .short_name = {},
                     .title = "NVFP4",
                     .bits = 4,
                     .stored = Dtype::Float4E2M1,
                     .opset = 23,
                     .usual_noise = 4e-2,
                     .scaled = true,
                     .floats = &kFloat4E2M1,
                     .block_scale = BlockScale::E4M3,
                     .block = 16,
                     .dynamic = true},
    FormatDefinition{.format = Format::MxFp8,
                     .name = "mxfp8",
                     .short_name = {},
                     .title = "MXFP8",
                     .bits = 8,
                     .stored = Dtype::Float8E4M3FN,
                     .opset = 24,  // scales in E8M0
                     .usual_noise = 4e-3,
                     .scaled = true,
                     .floats = &kFloat8E4M3FN,
                     .block_scale = BlockScale::E8M0,
                     .block = 32,
                     .dynamic = true},
    FormatDefinition{.format = Format::MxFp8E5M2,
                     .name = "mxfp8e5m2",
                     .short_name = {},
                     .title = "MXFP8 (E5M2)",
                     .bits = 8,
                     .stored = Dtype::Float8E5M2,
                     .opset = 24,
                     .usual_noise = 1.6e-2,
                     .scaled = true,
                     .weights_alone = true,
                     .floats = &kFloat8E5M2,
                     .block_scale = BlockScale::E8M0,
                     .block = 32},
    FormatDefinition{.format = Format::MxFp4,
                     .name = "mxfp4",
                     .short_name = {},
                     .title = "MXFP4",
                     .bits = 4,
                     .stored = Dtype::Float4E2M1,
                     .opset = 24,
                     .usual_noise = 5e-2,
                     .scaled = true,
                     .weights_alone = true,
                     .floats = &kFloat4E2M1,
                     .block_scale = BlockScale::E8M0,
                     .block = 32},
    FormatDefinition{.format = Format::DynamicInt8,
                     .name = "dynamic-int8",
                     .short_name = {},
                     .title = "dynamic INT8",
                     .bits = 8,
                     .stored = Dtype::UInt8,
                     .opset = 13,
                     .usual_noise = 2e-3,
                     .scaled = true,
                     .integers = {0, 255},
                     .dynamic = true},
};

}  // namespace

std::span<const FormatDefinition> format_definitions() { return kFormats; }

const FormatDefinition& definition_of(Format format) {
  return *std::ranges::find(kFormats, format, &FormatDefinition::format);
}

std::string_view format_name(Format format) { return definition_of(format).name; }

std::string_view format_title(Format format) { return definition_of(format).title; }

std::span<const std::string_view> words_of(Format /*which*/) {
  static constexpr auto kNames = [] {
    std::array<std::string_view, kFormats.size()> names;
    for (const FormatDefinition& row : kFormats) names[static_cast<std::size_t>(row.format)] = row.name;
    return names;
  }();
  return kNames;
}

std::optional<Format> parse_format(std::string_view name) {
  if (name.empty()) return std::nullopt;
  for (const FormatDefinition& row : kFormats) {
    if (row.name == name || row.short_name == name) return row.format;
  }
  if (name == "float") return Format::Float32;
  if (name == "half") return Format::Float16;
  return std::nullopt;
}

bool needs_scale(Format format) { return definition_of(format).scaled; }

int bits_of(Format format) { return definition_of(format).bits; }

}  // namespace vernier
