// Functions of Python that take the same arguments.
#pragma once

namespace vernier::table {

inline constexpr const char* kDiagnosing = "diagnose fix";
inline constexpr const char* kJudging = "diagnose fix verify";
inline constexpr const char* kQuantizing = "diagnose fix quantize";
inline constexpr const char* kLowering = "diagnose fix run quantize";
inline constexpr const char* kReadingSamples =
    "diagnose fix verify run quantize calibrate check_data explain_quantized evaluate";
inline constexpr const char* kReadingImages =
    "diagnose fix verify run quantize calibrate check_data explain_quantized evaluate bench";

}  // namespace vernier::table
