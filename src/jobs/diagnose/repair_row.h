// What is said of a repair that was tried.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "repairs/repair.h"
#include "vernier/report/causes.h"

namespace vernier {

/// Error power of these layers together; those without any count nothing.
double sum_over(const std::map<std::string, double>& noise, const std::vector<std::string>& layers);

/// What the float32 outputs have to reach with all of these rewrites.
double neutral_db_of(const std::vector<const Proposal*>& proposals);

/// `before`, `after`: error power of the proposal's layers together. Accepted where helps() says so. A proposal that is
/// judged by the network's output gets no figures here.
RepairTried row_of(const Repair& repair, const Proposal& proposal, double before, double after);

}  // namespace vernier
