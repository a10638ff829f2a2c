// How numbers are written in reports. Rounding never contradicts a verdict: 23.98 dB against a limit of 24 is printed
// with the digits that show why it failed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/format.h"
#include "vernier/requirement.h"

namespace vernier {

/// "24.3"; "exact" for +inf, "-inf" when something is not finite, "nan"; "-" when not measured.
std::string db_text(std::optional<double> db);

/// A metric's value with its unit, with as many digits as it takes to stay on its side of `limit`.
std::string metric_text(Metric metric, double value, std::optional<double> limit = {});

/// A limit as the user typed it: shortest form, with its unit ("24 dB", "98.5 %", "0.001").
std::string limit_text(Metric metric, double limit);

/// How many times the allowed error: "1.08x", "32.5x", "1.24e+04x"; "1.003x" with the digits that tell it from 1.
std::string times_text(double factor);

/// "3.21", "32.1": milliseconds.
std::string ms_text(double ms);

/// Share 0..1 as "7.4 %", "<0.1 %" when positive but below; "-" when not measured.
std::string percent_text(std::optional<double> share);

/// "812", "9,999", "12k", "1.2M": at most five columns, for tables.
std::string short_count_text(std::int64_t count);

/// "812 B", "3.6 MB" (powers of 1000).
std::string bytes_text(std::int64_t bytes);

/// Cosine cut after six digits; what is nearer to 1 than they tell is ">0.999999", and 1 is only written for 1.
std::string cosine_text(double cosine);

/// "int8", "int8 and float16".
std::string formats_text(const std::vector<Format>& formats);

/// The line of a scheme with its formats as sentences write them: "INT8: inputs of Conv, ...; the rest in FP32".
std::string scheme_words(std::string_view scheme);

}  // namespace vernier
