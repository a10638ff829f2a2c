// The reference run: the trusted float model over all samples, once. It yields what calibration needs (ranges), what
// the oracle compares with (outputs), and the shapes that costs are counted from.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "analysis/output_store.h"
#include "analysis/requirement.h"
#include "analysis/subject.h"
#include "base/partial_runs.h"
#include "vernier/tensor.h"

namespace vernier {

/// Of a graph input, over all samples.
struct SeenShapes {
  std::vector<Shape> each;  // by sample
  Shape least, most;        // dimension by dimension, while these are as many
};

struct Reference {
  std::map<std::string, RangeStats> ranges;           // of the observed tensors and float graph inputs
  std::map<std::string, RangeStats> early;            // the same of the first four fifths of the samples
  std::map<std::string, HalvedHistogram> histograms;  // of the tensors asked for
  std::map<std::string, Shape> shapes;                // as last seen
  std::map<std::string, SeenShapes> inputs;           // of the graph
  OutputStore outputs;                                // judged outputs, in the order of Subject::judged
  std::map<std::string, OutputStats> totals;          // of each judged output: energy, elements, rows of all samples
  /// Of the samples as the model gets them, in order: for each tensor, by name, "NAME DTYPE SHAPE\n" and its bytes.
  std::string data_sha256;
};

/// What else a reference run measures.
class BesideReference {
 public:
  virtual ~BesideReference() = default;
  /// Adds what measures it to `model`, in which tensors bear their names, with Compare in slots from `next_error_slot`
  /// on; the float32 tensors to give out.
  virtual std::vector<std::string> add_to(Model& model, std::int64_t& next_error_slot) = 0;
  /// Each sample in order: those tensors, and the ranges of observed tensors and float graph inputs within it.
  virtual void take(std::span<const Tensor> given_out, const std::map<std::string, RangeStats>& ranges) = 0;
  /// Once, behind the last sample: what operators saw of all.
  virtual void finish(const Recorder& total) = 0;
};

/// Which values a reference run counts: all, or only those near the ends of each half of the samples, which is what
/// there is to know of them where ranges are the smallest and the largest value. The others are one bin then; tensors
/// that may hold a mask, which only all values tell, have no histogram or a whole one.
enum class Counting { All, Ends };

/// Streams all samples through the model with an Observe on each tensor of `observed`, and counts the values of those
/// in `counted`, which are observed as well. Memory: one sample per thread, and 100 to 400 kB for each tensor counted.
/// `partial`: where a long run keeps what it has, and begins with what an earlier one had; null: it begins anew. Not
/// for sequences, several ranks or batches, which begin anew as well. `beside`: with all samples alone, not with
/// `partial`.
Reference run_reference(const Subject& subject, const std::set<std::string>& observed,
                        const std::set<std::string>& counted = {}, Counting counting = Counting::All,
                        PartialRuns* partial = nullptr, BesideReference* beside = nullptr);

/// Float tensors that layers of the default scheme read, and inputs of every weighted layer: what run_reference should
/// observe for calibration and for counting multiply-accumulates.
std::set<std::string> tensors_to_observe(const Subject& subject);

}  // namespace vernier
