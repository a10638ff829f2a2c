// What changed from the report of one build to that of the next.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "vernier/export.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/text.h"

namespace vernier {

/// One number that both reports have.
struct ChangedFigure {
  std::string name;  // "all low, SQNR of 'scores'"
  double before = 0, after = 0;
  bool higher_is_better = true;
  bool in_db = false;
  bool share = false;  // 0..1
};

struct ChangedLayer {
  std::string name;
  std::string op_type;
  std::optional<double> own_before_db, own_after_db;
  std::optional<double> share_before, share_after;
};

/// What changed from one build to the next.
struct ReportDiff {
  int version = 1;
  std::string before_answer, after_answer;
  std::vector<std::string> settings;  // what makes the two differ beside the network: data, scheme, versions
  std::vector<ChangedFigure> figures;
  std::vector<std::string> newly_kept, no_longer_kept;
  std::vector<std::string> new_layers, gone_layers;
  std::vector<ChangedLayer> layers;  // own error moved by 1 dB or more: most first
  double tolerance_db = 0.5;
  std::vector<std::string> worse;  // why the later build is worse; empty: it is not
};

/// Worse is: the requirement was met and is missed; more layers are kept; the SQNR of an output, everything low or as
/// finally measured, fell by more than `tolerance_db`; or an output is gone. Layers are matched by name.
/// Cost: linear, and one sort. Errors: Input where the models differ and no output has the same name.
VERNIER_API ReportDiff diff_reports(const DiagnoseReport& before, const DiagnoseReport& after,
                                    double tolerance_db = 0.5);
VERNIER_API std::string diff_to_text(const ReportDiff& diff, const TextOptions& options);
VERNIER_API std::string report_to_json(const ReportDiff& diff);

}  // namespace vernier
