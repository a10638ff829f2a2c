// How texts, pages and other tools' files name what a diagnosis is about: its formats, its model, its limit.
#pragma once

#include <cstddef>
#include <string>

#include "vernier/report/diagnose.h"
#include "vernier/report/figures.h"

namespace vernier {

/// "vernier diagnose", or "vernier fix" where that is what the report's command ran.
const char* program_of(const DiagnoseReport& report);

/// "the written model", "the repaired model", or "the typed model" where nothing was repaired: what the answer is of.
const char* model_words(const DiagnoseReport& report);

/// "int8", or "int8 except 2 excluded layers": what stands behind "everything in".
std::string all_low_text(const DiagnoseReport& report);

/// "int8", "int8 and float16": what all-low means in this report.
std::string low_text(const DiagnoseReport& report);

/// " (0.3 % of the multiply-accumulates, 1 % of the bytes of weights)": the share that everything low lowers; empty if
/// it is most of the work.
std::string lowered_share(const DiagnoseReport& report);
/// "; 2 recurrent layers stay in float32": what does the rest of the work, and what could not be lowered.
std::string not_lowered(const DiagnoseReport& report);

/// The stricter limit that a search with less allowance was held to: "20.3 dB", or "93 % of the allowance" where that
/// is no one number. `report.kept` must be there.
std::string searched_limit_text(const DiagnoseReport& report);

/// Where rows that the printed text leaves out can be found.
const char* all_of_them(const DiagnoseReport& report);

}  // namespace vernier
