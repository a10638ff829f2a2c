// Which options arrived, in words, and how a job ends: shared by the doubles.
#pragma once

#include <string>
#include <vector>

#include "vernier/measure.h"
#include "vernier/note.h"
#include "vernier/onnx_model.h"
#include "vernier/precision.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"

namespace vernier {

std::vector<std::string> describe(const SourceOptions& source);
std::vector<std::string> describe(const MeasureOptions& measure);
std::vector<std::string> describe(const PrecisionOptions& precision);

void append(std::vector<std::string>& lines, const std::vector<std::string>& more);
/// As notes that are sentences alone.
void append(std::vector<Note>& notes, const std::vector<std::string>& lines);

/// Ends as the model's name says.
void act(const OnnxModel& model, const JobSinks& sinks);

}  // namespace vernier
