// What the page of a diagnosis shows and its report does not hold as it is: phrases that the text says too, margins,
// and the sets of layers that the search tried as points of a curve.
#pragma once

#include <string>
#include <utility>

#include "json/json.h"
#include "report/text/diagnose_answer.h"
#include "vernier/report/diagnose.h"

namespace vernier {

/// What the text says too, in the same words.
Json page_words(const DiagnoseReport& report);

/// The names of formats in sentences, by their names in files: {"float32": "FP32"}.
Json format_titles();

/// [{"advice", "command"}]: what to do next.
Json steps_of(const Answer& answer);

/// Sets of kept layers that were measured, the best of each size: {"points": [{"kept", "metric", "damage", "bound",
/// "passed"}], "answer": layers of the kept set, "limit": where one limit of one unit decides}. At most 500 points,
/// those with fewest layers. Empty without a search.
Json kept_curve(const DiagnoseReport& report);

/// "Requirement met", "Requirement missed", with a sign in front, "Not verified" or "No verdict".
std::string verdict_words(const DiagnoseReport& report);

/// What the page is coloured by: "met", "missed", "open".
const char* outcome_class(const DiagnoseReport& report);

/// A text in two: its first sentence, and the rest. A sentence ends at a full stop in front of a space and something
/// that can begin one.
std::pair<std::string, std::string> first_sentence(const std::string& text);

}  // namespace vernier
