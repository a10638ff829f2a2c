// Pairs of activations that lose the values of their own tensor, whoever reads them: by what they cut off and round on
// exact values, and by what each does to the outputs while everything else is exact.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/quantizer_loss.h"
#include "analysis/subject.h"
#include "jobs/debug/pair_reasons.h"
#include "jobs/verify/exact_network.h"
#include "plan/simulate_typed.h"
#include "vernier/note.h"
#include "vernier/report/debug_loss.h"
#include "vernier/report/defects.h"

namespace vernier {

/// So many are tried, those that lose most.
inline constexpr std::size_t kMostLostPairs = 32;

/// One defect of kind "lost-pair" for each activation that its pair leaves less than 20 dB (8 dB in 4 bits, 12 dB in
/// E5M2), or less than 5 dB more where a range that holds all values would lose a tenth, of the tensor or of a channel
/// with a scale of its own, or whose range is 3.5 times as wide as its values, and that alone makes a quarter of an
/// output's noise and leaves it less than 30 dB; less than 40 dB if nothing explains the width (unexplained_widths())
/// and the range of the samples gains 6 dB. One for each weight in 8 bits or fewer whose scales are 3.5 times as large
/// as its values need, or some of them are (`wide_scales`, by pair), with the same share, if it leaves an output less
/// than 40 dB. One for each that is narrow beside the others (narrow_beside_others()) or open below (open_below()), in
/// any format, if an output of the file gains 2 dB once it fits, or 10 dB if it has 40. If `output_is_lost`, one for
/// each that starves (find_starved_pairs()) and alone leaves an output less than 20 dB: "starved-channels" where whole
/// channels do. `losses`: by measure_grids() on exact values, in the order of `file.quantized`, as are `rows`.
/// `skipped`: tensors of the file whose values are not those of the float model. Cost: a plain run of the subject's
/// samples for each pair that loses that much, two for each that is too wide or too narrow, and five more.
std::vector<FoundDefect> find_lost_pairs(const Subject& subject, const SimulatedFile& file, const FloatValues& values,
                                         const std::vector<GridLoss>& losses, const std::vector<QuantizerLoss>& rows,
                                         const std::map<std::size_t, Coverage>& wide_scales,
                                         const std::set<std::string>& skipped, bool output_is_lost);

/// Of a file without defects whose output has less than 30 dB: at most three pairs of activations, each with the gain
/// of an output if it alone rounds nothing, of 2 dB or more. `own_db`: SQNR of layers on exact inputs. Cost: a plain
/// run of the subject's samples for each of the 32 pairs that the worst layers read, and one more.
std::vector<Note> costly_pairs(const Subject& subject, const SimulatedFile& file, const FloatValues& values,
                               const std::vector<QuantizerLoss>& rows, const std::map<std::string, double>& own_db);

}  // namespace vernier
