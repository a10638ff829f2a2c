// The part of `centre-stream` for norms whose groups are channels of a convolution.
#pragma once

#include <vector>

#include "repairs/repair.h"

namespace vernier {

/// Round 0: the mean of each group goes out of the bias; round 1: the middle of the range that is left.
std::vector<Proposal> centre_biases(const Network& network, int round);

}  // namespace vernier
