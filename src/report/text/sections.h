// Sections that the texts of several commands share.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/layout.h"
#include "vernier/note.h"
#include "vernier/report/defects.h"
#include "vernier/report/figures.h"
#include "vernier/report/text.h"
#include "vernier/report/typed.h"

namespace vernier {

/// "Model         mobilenetv2.onnx": a labelled header line, wrapped under its value. Empty values write nothing.
std::string labelled(const std::string& label, const std::string& value, std::size_t width);

/// A blank line and a heading, wrapped.
std::string heading(const std::string& text, const TextOptions& options);

/// Adds the columns overflow, saturated, subnormal, flushed and NaN; cells of a kind that never occurred stay empty, so
/// that the table leaves the column out.
class EventColumns {
 public:
  explicit EventColumns(const std::vector<LayerRow>& rows);
  void add_headings(Table& table) const;
  void add_cells(const LayerRow& row, std::vector<std::string>& cells) const;

 private:
  std::vector<bool> used_;
};

/// What the columns of errors and of damage mean, here and on the page.
inline constexpr const char* kLocalLegend = "local: SQNR of the layer's output on exact inputs";
inline constexpr const char* kPropagatedLegend = "propagated: SQNR of its output if only its inputs are in error";
inline constexpr const char* kSensitivityLegend =
    "sensitivity: SQNR of the network's output with only this layer in low precision, on a few samples, half of them "
    "the hardest";
inline constexpr const char* kShareLegend = "share: of the damage of all layers";

/// What the event columns that occur count, in one line; empty when none occurs.
std::string event_legend(const std::vector<LayerRow>& rows);

/// "12.4 s"; `each`: "12.4 s: reference 1.2, search 11.2"; empty without phases.
std::string time_text(const std::vector<PhaseTime>& phases, bool each = true);

/// The runner's name with what its figures rest on.
std::string runner_text(const std::string& runner, bool on_gpu);

/// "1f2e3d4c5b6a", the first digits of a hash; empty stays empty.
std::string short_hash(const std::string& sha256);

/// "3 activation pairs, 3 quantized weights": the Q/DQ nodes of the output model.
std::string pairs_text(const TypedReport& typed);

/// "1.3 MB, were 1.0 MB", and the weights that stay in a wider type where others have 8 bits or fewer.
std::string weights_text(const TypedReport& typed);

/// Mistakes in Q/DQ pairs, each with its node and its fix; empty without any.
/// `where`: ", examined on 32 of the 500 samples"; may be empty.
std::string defects_section(const std::vector<FoundDefect>& defects, const TextOptions& options,
                            const std::string& where = {});

/// Each a wrapped paragraph behind its label.
std::string notes_text(const std::vector<Note>& notes, const TextOptions& options, const std::string& label);

/// Warnings, then notes, each a wrapped paragraph.
std::string remarks(const std::vector<Note>& warnings, const std::vector<Note>& notes, const TextOptions& options);

}  // namespace vernier
