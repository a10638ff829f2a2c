// `vernier fix`: repairs before layers are kept in high precision.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "vernier/diagnose.h"
#include "vernier/experiments.h"
#include "vernier/export.h"
#include "vernier/report/diagnose.h"
#include "vernier/sinks.h"

namespace vernier {

struct RepairOptions {
  std::vector<std::string> allow;   // ids; empty: all
  std::vector<std::string> forbid;  // wins over `allow`
  std::vector<RepairMethod> own{};  // of the caller's, beside the library's
  /// Folder for qat.py: formats, ranges and excluded layers by torch module, for quantization-aware training with
  /// ModelOpt. Empty: none. Errors of fix(): Usage, for formats that ModelOpt cannot train, and for a file that does
  /// not name its modules.
  std::filesystem::path qat{};
  /// Most multiply-adds that `round-weights` may take. Layers with the most `damage` per multiply-add come first,
  /// without `damage` the cheapest; the others keep their nearest values. Counted, never timed: the answer is
  /// the same on every machine. 0: no limit.
  double rounding_work = 0;
  std::map<std::string, double> damage{};  // of single layers, in any unit
};

struct RepairName {
  std::string id;
  std::string text;  // one line for people
  std::string cost;  // at run time: "none", "one Mul per layer"
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

}  // namespace vernier
