// Trials of a search that several ranks make together (distributed/ranks.h).
#pragma once

#include "distributed/ranks.h"
#include "distributed/wire.h"
#include "search/oracle.h"

namespace vernier {

void pack(const Trial& trial, Packer& packer);
Trial unpack_trial(Unpacker& unpacker);

/// `oracle`, answering on every rank what it answers on the first: programs and scripts of users are asked, and may
/// answer anything. With `first_only` the other ranks do not ask. `ranks` must outlive what is returned.
Oracle answer_of_first(Ranks& ranks, Oracle oracle, bool first_only);

}  // namespace vernier
