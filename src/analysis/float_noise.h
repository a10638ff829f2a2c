// What roundings alone make of the outputs of the float model: a Sigmoid whose kernel has steps of 3e-8 gives scores of
// 1e-7 that are another draw of noise whenever its input moves by one rounding. No format can be blamed for as much.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "analysis/subject.h"
#include "vernier/note.h"
#include "vernier/report/figures.h"

namespace vernier {

/// Noise over signal of judged outputs between the float model and itself with every float32 input value moved by 2^-20
/// of itself, on at most 8 samples. Inputs of whole numbers stay: positions are exact. Those above 50 dB are left out:
/// sums in another order move values as little. Cost: two plain runs of these samples.
std::map<std::string, double> float_noise(const Subject& subject);

/// That the errors of outputs of `run` are no damage; nothing: there are none such.
std::optional<Note> float_noise_note(const RunFigures& run);

}  // namespace vernier
