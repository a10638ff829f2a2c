// The sentences of notes and warnings. All of them are in src/report/text/note_catalogue.cpp.
#pragma once

#include <string>
#include <vector>

#include "vernier/export.h"
#include "vernier/note.h"

namespace vernier {

/// The sentence of a note, with marks (marks.h). One whose code this version does not know has the text that its report
/// has.
VERNIER_API std::string note_text(const Note& note);
VERNIER_API std::vector<std::string> note_texts(const std::vector<Note>& notes);

/// For tests: as long as it is on, each note is its code. Whatever else a job does must stay as it is.
VERNIER_API void show_codes_of_notes(bool on);

}  // namespace vernier
