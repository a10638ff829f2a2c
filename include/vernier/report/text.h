// How reports are told as text. Fields of a report name arguments between marks (marks.h); all that report_to_text(),
// report_to_json(), report_to_html(), deploy_markdown() and gate_of() make of them is in words of the command.
#pragma once

#include <cstddef>
#include <vector>

#include "vernier/note.h"

namespace vernier {

struct TextOptions {
  std::size_t width = 100;  // columns that text is wrapped at
  std::size_t top = 15;     // rows of the ranked table; 0: all
  bool color = false;
  bool whole_names = false;                  // for files and logs: names of up to 64 columns stay whole
  bool verbose = false;                      // the time of each phase, and every row of a long certificate
  const std::vector<Note>* shown = nullptr;  // warnings that already stand above the text: left out of it
};

}  // namespace vernier
