// What the parts of a struct are called in JSON: one list per type, read and written by the same code (fields.h), so
// that both directions cannot drift apart. A new field is one line in the list of its struct.
//
//   template <>
//   struct Fields<CurvePoint> {
//     static constexpr auto list = std::tuple{Field{"kept", &CurvePoint::kept}, ...};
//   };
//
// An optional that holds nothing is no member of the object: what was not measured is absent, in all documents of ours,
// and never null. Files of other programs that want null have Nullable fields.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/format.h"
#include "vernier/note.h"

namespace vernier {

/// `present` decides whether a field is written; where it is set, the reader takes the field as optional too.
template <class Owner, class Value>
struct Field {
  const char* key;
  Value Owner::*member;
  bool (*present)(const Owner&) = nullptr;
  const char* former = nullptr;  // what files of earlier versions call it
};

// Compilers before Clang 17 do not find these by themselves.
template <class Owner, class Value>
Field(const char*, Value Owner::*) -> Field<Owner, Value>;
template <class Owner, class Value>
Field(const char*, Value Owner::*, bool (*)(const Owner&)) -> Field<Owner, Value>;
template <class Owner, class Value>
Field(const char*, Value Owner::*, std::nullptr_t, const char*) -> Field<Owner, Value>;

/// A text for people, or some: what the library marks in it (vernier/marks.h) is written in words of the command. It is
/// read as it stands there.
template <class Owner, class Value>
struct Prose : Field<Owner, Value> {};

template <class Owner, class Value>
Prose(const char*, Value Owner::*) -> Prose<Owner, Value>;
template <class Owner, class Value>
Prose(const char*, Value Owner::*, bool (*)(const Owner&)) -> Prose<Owner, Value>;

/// Notes or warnings. `key` has their sentences, which `texts` makes, in words of the command; `codes` what they are
/// made of, and is left out when no note has a code. Files of earlier versions have sentences alone.
template <class Owner>
struct Remarks {
  const char* key;
  const char* codes;
  std::vector<Note> Owner::*member;
  std::vector<std::string> (*texts)(const std::vector<Note>&);
  bool (*present)(const Owner&) = nullptr;
};

template <class Owner>
Remarks(const char*, const char*, std::vector<Note> Owner::*, std::vector<std::string> (*)(const std::vector<Note>&))
    -> Remarks<Owner>;
template <class Owner>
Remarks(const char*, const char*, std::vector<Note> Owner::*, std::vector<std::string> (*)(const std::vector<Note>&),
        bool (*)(const Owner&)) -> Remarks<Owner>;

/// A format of which only some are taken, in the schema; whoever reads the document refuses the others.
template <class Owner>
struct SomeFormats : Field<Owner, std::optional<Format>> {
  std::span<const Format> formats;
};

/// For Field::present: written always, and yet not wanted where it is read.
template <class Owner>
constexpr bool optional_field(const Owner& /*owner*/) {
  return true;
}

/// An optional in the file of another program, whose readers want null where there is nothing.
template <class Owner, class Value>
struct Nullable {
  const char* key;
  Value Owner::*member;
};
template <class Owner, class Value>
Nullable(const char*, Value Owner::*) -> Nullable<Owner, Value>;

/// A field that follows from others, value(owner): written, and passed over when it is read.
template <class Function>
struct Derived {
  const char* key;
  Function value;
};
template <class Function>
Derived(const char*, Function) -> Derived<Function>;

/// The fields of a type, in file order. With a member `static constexpr bool open = true` others may stand in a file
/// beside them; else they are refused.
template <class T>
struct Fields;

}  // namespace vernier
