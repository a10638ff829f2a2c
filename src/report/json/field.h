// What each part of a report is called in JSON: one list per type, read and written by the same code in json.cpp, so
// that both directions cannot drift apart. A new field is one line in the fields*.h of its subject.
#pragma once

#include <cstddef>

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

/// The fields of a type, in file order.
template <class T>
struct Fields;

}  // namespace vernier
