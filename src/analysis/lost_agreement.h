// Whether a change makes a network choose other classes than the float model more often, beyond what chance does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/requirement.h"
#include "analysis/subject.h"
#include "vernier/report/figures.h"

namespace vernier {

/// Of each sample, by its place among all: rows of class scores whose largest element is elsewhere than
/// the reference's, over all outputs. Empty: no output is class scores, or samples are frames of a sequence, which
/// depend on each other.
std::vector<std::int64_t> rows_moved(const Subject& subject, const std::map<std::string, OutputStats>& stats);

/// Of the same samples before and after a change; nothing changes where either is empty. Source: Q. McNemar, "Note on
/// the sampling error of the difference between correlated proportions", Psychometrika 12 (1947), in its exact form.
AgreementChange agreement_change(const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& after);

/// "top-1 agreement is lost in 7 samples and won in 1, by chance in 3.5 % of such changes". `what` in the place of
/// "top-1 agreement".
std::string change_text(const AgreementChange& change, const std::string& what = "top-1 agreement");

}  // namespace vernier
