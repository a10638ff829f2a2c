// The options table: what could be done about a requirement, and which of it is best.
#pragma once

#include <string>
#include <vector>

#include "report/text/diagnose_answer.h"
#include "vernier/report/alternatives.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/text.h"

namespace vernier {

/// "keep layers, as found", "repair: vernier fix", "--target openvino".
std::string alternative_text(const DiagnoseReport& report, const Alternative& alternative);

/// A command with what an alternative changes: "vernier diagnose m.onnx --int8" and "--fp16" give
/// "vernier diagnose m.onnx --fp16". `target`: it is another target; else other formats, or the command "fix".
std::string command_with(const std::string& command, const std::string& change, bool target);

/// Says that the answer is a repaired network, if an option was adopted, and what would be kept without repairs.
void say_adopted(const DiagnoseReport& report, Answer& answer);

/// Puts the best alternative first among what to do, where it is another than what was found.
void say_best_alternative(const DiagnoseReport& report, Answer& answer);

/// A row of the table, as people read it; cells that were not measured are empty.
struct AlternativeWords {
  std::string option, kept, work, result, bound, same_top1, ms, end;
  std::string why;    // not measured, or not adopted: why
  std::string worse;  // a figure that nobody asked for, and that falls
  bool measured = true;
  bool repeats = false;  // it changed nothing, and needs no row
  bool best = false;
  bool answer = false;  // what the report answers with
};
std::vector<AlternativeWords> alternative_words(const DiagnoseReport& report);

/// One line for all that were not measured for the same reason, and why some were not adopted.
std::vector<std::string> alternative_remarks(const std::vector<AlternativeWords>& all);

/// A heading, a row for each, and why some were not measured. Empty without alternatives.
std::string alternatives_section(const DiagnoseReport& report, const TextOptions& options);

}  // namespace vernier
