// What figures do not say of the outputs of a typed model: integers that differ from the float model's, and outputs, or
// parts of them, that are one constant now.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "analysis/output_store.h"
#include "analysis/subject.h"
#include "plan/simulate_typed.h"
#include "vernier/note.h"
#include "vernier/report/verify.h"

namespace vernier {

/// Judged outputs of all samples that an earlier run gave, in the order of Subject::judged; null: none did.
struct KnownValues {
  const OutputStore* reference = nullptr;  // of the float model
  const OutputStore* typed = nullptr;      // of the typed one
};

/// Integer and Boolean outputs of both models, compared exactly, sample by sample. No figure judges them. Cost: one run
/// of each model over all samples where there are such outputs, else none.
std::vector<ExactOutput> compare_exact_outputs(const Subject& subject, const SimulatedFile& file);

/// A note for each judged output, or part of one, that has one value in `file` over the first samples, and varies
/// in the float model; and for channels that have. `sums`: of the judged outputs. Cost: at most eight samples through
/// each model, all where a channel is constant, one sample through the typed one where nothing is. Nothing of a model
/// whose outputs are known.
std::vector<Note> constant_outputs(const Subject& subject, const SimulatedFile& file,
                                   const std::map<std::string, OutputStats>& sums, const KnownValues& known = {});

/// A note for each judged output whose values lie around one that is far larger than their spread: with m their
/// mean over all elements and s^2 their variance, m^2 is more than 10 s^2. SQNR counts m as signal: that of the spread
/// alone is 10 log10(1 + m^2 / s^2) dB less. The same where that holds of the mean at each place over four samples or
/// more, as of boxes behind a grid, if the spread has less than 20 dB. Cost: two samples through the float model; at
/// most eight where an output looks so. Nothing where outputs of the float model are known.
std::vector<Note> offset_outputs(const Subject& subject, const RunFigures& figures, const KnownValues& known = {});

}  // namespace vernier
