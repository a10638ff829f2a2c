// `vernier check data`: do the inputs look like what the network was trained on? From the float model alone.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "vernier/jobs.h"

namespace vernier {

struct CheckDataOptions {
  std::filesystem::path model;
  std::filesystem::path labels;  // classification: .npy or text, one a sample; empty: none
  std::int64_t label_offset = 0;
  MeasureOptions measure;  // at most 16 samples are looked at (64 with labels) unless a limit is set
};

/// What one input holds.
struct SeenInput {
  std::string name;
  std::string shape;
  double min = 0, max = 0;
  std::vector<double> mean, deviation;  // by channel where it is an image, else one
};

/// A BatchNormalization that the file still has: what training saw there against what these inputs give.
struct SeenNorm {
  std::string node;
  double shift = 0;   // mean over channels of |observed mean - trained mean| / trained deviation
  double ratio = 0;   // geometric mean over channels of observed deviation / trained deviation
  double misfit = 0;  // mean over channels of the divergence of the two normal distributions, in nats
};

/// The inputs as they are, or changed in one way.
struct InputReading {
  std::string change;                // "" as given; else what was done: "channels swapped, divided by 255"
  std::string do_this;               // how to make it so with Vernier's own options, where that is known
  std::optional<double> misfit;      // median over the first BatchNormalizations
  std::optional<double> confidence;  // mean of the largest probability of the output
  std::optional<double> accuracy;    // share of right labels
};

struct CheckDataReport {
  int version = 1;
  std::string file, data;
  std::size_t samples = 0;
  std::vector<SeenInput> inputs;
  std::vector<SeenNorm> norms;         // with the inputs as given, nearest to the input first
  std::vector<InputReading> readings;  // as given first; then by what decides, best first
  std::string decided_by;              // "labels", "BatchNormalization statistics", "confidence", "" nothing could
  std::optional<std::string> better;   // the change that fits clearly better
  std::optional<std::string> perhaps;  // else the change that fits better, but not surely
  bool unlike_training = false;        // the statistics are far off, and nothing tried fits
  std::string answer;                  // one sentence
  std::vector<std::string> warnings;
};

/// Tries the usual mistakes on image inputs: channels in the other order, 0..1 against 0..255, ImageNet's mean and
/// deviation given or left out, -1..1, and another layout than the network's. What decides: labels where there are
/// some; else statistics of BatchNormalization that the file still has; else the confidence of an output that looks
/// like classes, which is weaker and needs a larger gain. Cost: one run of the samples for each reading, ten at most.
/// Errors: Input, Backend.
VERNIER_API CheckDataReport check_data(const CheckDataOptions& options, const JobSinks& sinks = {});

VERNIER_API std::string report_to_text(const CheckDataReport& report, const TextOptions& options);
VERNIER_API std::string report_to_json(const CheckDataReport& report);

}  // namespace vernier
