// `vernier fix`: repairs before layers are kept in high precision.
#pragma once

#include <string>
#include <vector>

#include "vernier/export.h"
#include "vernier/jobs.h"

namespace vernier {

struct RepairOptions {
  std::vector<std::string> allow;   // ids; empty: all
  std::vector<std::string> forbid;  // wins over `allow`
};

struct RepairName {
  std::string id;
  std::string text;  // one line for people
};

/// All repairs, in the order in which they are tried.
VERNIER_API std::vector<RepairName> repair_names();

struct FixOptions : DiagnoseOptions {
  RepairOptions repair;
};

/// The flow of diagnose(), with repairs between measuring the network and searching what must be kept. The report's
/// `explanation.repairs` has every proposal, `repaired` the figures with all that were accepted and nothing kept.
/// Errors: as diagnose().
VERNIER_API DiagnoseReport fix(const FixOptions& options, const JobSinks& sinks = {});

/// The flow of diagnose() without its causes: for a search alone.
VERNIER_API DiagnoseReport search_precision(const DiagnoseOptions& options, const JobSinks& sinks = {});

}  // namespace vernier
