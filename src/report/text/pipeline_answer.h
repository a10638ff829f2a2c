// What a report of stages says in one sentence, and what to do next.
#pragma once

#include <string>
#include <vector>

#include "vernier/report/pipeline.h"

namespace vernier {

/// "Accuracy is lost at stage 'int8': 12.3 dB against 'float'."
std::string pipeline_answer(const PipelineReport& report);

/// Commands that look into the stage where accuracy is lost; none where it is not. `data_words`: the options that say
/// what the samples are, as they were typed.
std::vector<std::string> pipeline_commands(const PipelineReport& report, const std::string& data_words);

}  // namespace vernier
