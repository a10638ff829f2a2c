// A second opinion on a search's certificate from its trials, by code that shares nothing with the search: no set is
// reported as proven without it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "search/minimal.h"
#include "search/oracle.h"

namespace vernier {

/// One line of a search's journal.
struct RecordedTrial {
  KeptSet kept;
  Trial trial;
};

/// Why a certificate does not prove what it claims; empty when it does.
struct CertificateCheck {
  std::vector<std::string> faults;
  bool valid() const { return faults.empty(); }
};

/// Does the certificate prove, on the evidence in `trials`, that `kept` passes and kept less any one item fails?
///
/// Demands: kept ascending, without repeats, each below `item_count`; exactly one entry per kept item; for the kept set
/// a passing and for each kept-less-one a failing recorded trial of exactly that set, agreeing with the entry; no set
/// of these on record with both outcomes; the certificate calls itself complete. An item that the certificate excuses
/// as not cheaper to drop, or as needed by another one, needs no trial: `items` and `borders` must say the same. Edges:
/// kept = {} needs only its own passing trial. Undecided verdicts are failures. Cost: O(trials * (|kept| + set size) *
/// log), no oracle call.
CertificateCheck check_certificate(std::size_t item_count, const KeptSet& kept, const Certificate& certificate,
                                   std::span<const RecordedTrial> trials, std::span<const SearchItem> items = {},
                                   std::span<const Border> borders = {});

}  // namespace vernier
