// Text of the command line to values, with messages that name the option. Everything here runs before any model is
// loaded. All functions throw Error{Usage}.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vernier/device.h"
#include "vernier/format.h"
#include "vernier/open_shape.h"
#include "vernier/tensor.h"
#include "vernier/words.h"

namespace vernier::cli {

/// "--samples", "20" -> 20. Range: [least, most].
std::uint64_t parse_count(std::string_view option, const std::string& text, std::uint64_t least, std::uint64_t most);

/// A finite number.
double parse_number(std::string_view option, const std::string& text);

/// For a share that seems to be given in percent: "shares are from 0 to 1: --min-top1 0.97"; empty for other values.
std::string hint_of_percent(std::string_view option, double value);

/// A format's canonical name or short form (docs/contract.md, 1); the nearest are offered.
Format parse_format_name(std::string_view option, const std::string& text);

/// Several with commas between them.
std::vector<Format> parse_format_names(std::string_view option, const std::string& text);

/// "auto", "cpu", "cuda", "cuda:1".
Device parse_device_name(std::string_view option, const std::string& text);

/// "8G", "512M", "1000".
ByteSize parse_byte_size(std::string_view option, const std::string& text);

/// One of `choices`; the nearest are offered.
const std::string& parse_choice(std::string_view option, const std::string& text,
                                const std::vector<std::string>& choices);

/// The same for an enum that has words.
template <Worded Enum>
Enum parse_choice(std::string_view option, const std::string& text) {
  const std::span<const std::string_view> words = words_of(Enum{});
  return *parse_word<Enum>(parse_choice(option, text, std::vector<std::string>(words.begin(), words.end())));
}

/// "conv:1:fp16" -> {"conv:1", "fp16"}: the last colon separates, because names may contain colons. Both parts are
/// wanted. `form` is what the option expects, for the message: "NAME:FORMAT".
std::pair<std::string, std::string> parse_pair(std::string_view option, const std::string& text, std::string_view form);

/// "x:[0,255]" -> {"x", {0, 255}}; "[0,255]" -> {"", ...}: all other inputs.
std::pair<std::string, std::pair<double, double>> parse_value_range(std::string_view option, const std::string& text);

/// Whether a shape may leave dimensions open, as -1 or by a name: "x:[-1,3]", "x:[batch,3]".
enum class Dims { Fixed, MayBeOpen };

/// "x:[batch,3]" -> {"x", {{-1, 3}, {"batch", ""}}}; quotes around a name are left out.
std::pair<std::string, OpenShape> parse_open_shape(std::string_view option, const std::string& text);

/// "x:[1,3,224,224]" or "x:1x3x224x224" -> {"x", {1, 3, 224, 224}}; "x:[]" is a scalar. Open dimensions become -1.
std::pair<std::string, Shape> parse_input_shape(std::string_view option, const std::string& text,
                                                Dims dims = Dims::Fixed);

/// Several of them, apart or as trtexec writes them, joined by commas, with names in single quotes where they hold a
/// colon: "x:1x3,'y:0':1x4".
std::vector<std::pair<std::string, Shape>> parse_input_shapes(std::string_view option,
                                                              const std::vector<std::string>& texts,
                                                              Dims dims = Dims::Fixed);

/// One value or three (one a channel), apart or joined by commas: "0.485,0.456,0.406".
std::vector<float> parse_channels(std::string_view option, const std::vector<std::string>& texts);

}  // namespace vernier::cli
