// What check_data() found: what the inputs look like, and which reading of them fits the network best.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "vernier/export.h"
#include "vernier/note.h"
#include "vernier/report/text.h"

namespace vernier {

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

/// What comes out of the network, and the labels, read as given or in another way.
struct OutputReading {
  std::string change;   // "" as given
  std::string do_this;  // options that read them so; empty: there are none
  double value = 0;     // of the verdict's figure, 0..1
};

/// Which reading of outputs and labels fits best.
struct OutputVerdict {
  std::string figure;                   // "top-1", "mAP", "mIoU"; empty: nothing was tried
  std::vector<OutputReading> readings;  // as given first, then best first
  std::optional<std::string> better;    // the change that fits clearly better
  std::string answer;                   // one sentence; empty without it
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
  bool undecided = false;              // others that change as much fit as well: `answer` names them
  std::optional<std::string> perhaps;  // else the change that fits better, but not surely
  bool unlike_training = false;        // the statistics are far off, and nothing tried fits
  std::string finding;                 // what is wrong: a sentence without its full stop; empty where nothing surely is
  std::string answer;                  // `finding` and what follows from it, or why the inputs pass
  OutputVerdict outputs;
  std::vector<Note> warnings;
};

VERNIER_API std::string report_to_text(const CheckDataReport& report, const TextOptions& options);
VERNIER_API std::string report_to_json(const CheckDataReport& report);

}  // namespace vernier
