// The sentences of all notes and warnings, by code. A template names the fields of its note in braces:
//
//   {name}            a text as printable() has it, a number, the first five of a list
//   {why:text}        a text that may hold marks: an error, a sentence of an engine; all of a list of such
//   {high:format}     a format as sentences write it: FP32
//   {sqnr:.1f}        a figure
//   {count:#layer}    "1 layer", "3 layers"; of a list its size counts
//   {count:?it|all #} one of two texts, by whether the count is 1 (a truth: by whether it is true); # is the count
//   {names:3}         the first three of a list; {names:all}, and quoted: {names:quoted}, {names:quoted 3}
//   [; nearest: {near}]  a part that is left out when the note has no such field, or an empty one
//
// Doubled, braces and brackets stand for themselves.
#pragma once

#include <span>
#include <string_view>

namespace vernier {

struct NoteTemplate {
  std::string_view code, text;
};

std::span<const NoteTemplate> note_templates();

}  // namespace vernier
