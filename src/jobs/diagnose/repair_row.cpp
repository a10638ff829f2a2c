#include "jobs/diagnose/repair_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "analysis/figures.h"
#include "jobs/diagnose/repair_ladder.h"

namespace vernier {

double sum_over(const std::map<std::string, double>& noise, const std::vector<std::string>& layers) {
  double sum = 0;
  for (const std::string& layer : layers) {
    if (const auto found = noise.find(layer); found != noise.end()) sum += found->second;
  }
  return sum;
}

double neutral_db_of(const std::vector<const Proposal*>& proposals) {
  double wanted = kNeutralDb;
  for (const Proposal* proposal : proposals) wanted = std::max(wanted, proposal->neutral_db);
  return wanted;
}

RepairTried row_of(const Repair& repair, const Proposal& proposal, double before, double after) {
  RepairTried row;
  row.id = repair.id;
  row.layers = proposal.layers;
  if (proposal.by_output) return row;
  const auto count = static_cast<double>(std::max<std::size_t>(proposal.layers.size(), 1));
  row.before_db = db_of(before / count);
  row.after_db = db_of(after / count);
  row.accepted = helps(before, after);
  row.why = proposal.what;
  if (!row.accepted) {
    row.why += std::isfinite(before) && before > 0
                   ? fmt::format("; its error power fell by {:.0f} %, and 20 % are required",
                                 std::max(0.0, 100 * (1 - after / before)))
                   : std::string("; its error was already 0, or is still not finite");
  }
  return row;
}

}  // namespace vernier
