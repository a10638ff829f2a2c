// Which layer runs in which format, by a typed file or by a plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "vernier/export.h"
#include "vernier/format.h"
#include "vernier/note.h"
#include "vernier/report/text.h"

namespace vernier {

struct FormatRow {
  Format format = Format::Float32;
  std::size_t layers = 0;
  std::int64_t macs = 0;          // multiply-accumulates of one sample
  std::int64_t weight_bytes = 0;  // of the constants that its layers read, as stored
};

struct SchemeLayer {
  std::string name, op_type;
  Format format = Format::Float32;
  std::int64_t macs = 0;
  std::string why_not;  // the lowest format in use; empty for layers that run in it
};

struct SchemeReport {
  int version = 1;
  std::string file;
  std::string scheme;               // of a plan
  std::vector<FormatRow> formats;   // lowest first
  std::vector<SchemeLayer> layers;  // in graph order
  /// Absent for a plan without its model. Multiply-accumulates count dimensions that are not known as 1.
  std::optional<std::size_t> fused_pairs, standalone_pairs, stored_constants, casts;
  bool open_dimensions = false;
  std::vector<Note> notes;
};

VERNIER_API std::string report_to_text(const SchemeReport& report, const TextOptions& options);
VERNIER_API std::string report_to_json(const SchemeReport& report);
/// One line a layer.
VERNIER_API std::string report_to_csv(const SchemeReport& report);

}  // namespace vernier
