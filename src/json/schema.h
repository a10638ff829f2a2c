// JSON Schema (draft 2020-12) of structs, from their lists of fields (field.h): the documents that json_of() writes.
#pragma once

#include <concepts>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "json/field.h"
#include "json/fields.h"
#include "json/json.h"
#include "vernier/note.h"
#include "vernier/tensor.h"
#include "vernier/words.h"

namespace vernier {

class SchemaWriter {
 public:
  /// The schema of T as the top of a document. `title` and `description` are for people.
  template <class T>
  static Json document(std::string_view title, std::string_view description) {
    SchemaWriter writer;
    Json schema = writer.object_of<T>();
    return writer.finish(std::move(schema), title, description);
  }

 private:
  template <class T>
  struct Of {
    using Type = T;
  };
  template <class T>
  struct Of<std::optional<T>> {
    using Type = T;
  };

  template <class T>
  Json of(const std::vector<T>* /*which*/) {
    return array_of(schema_of<T>());
  }
  template <class T>
  Json of(const std::map<std::string, T>* /*which*/) {
    Json schema = typed("object");
    schema.add("additionalProperties", schema_of<T>());
    return schema;
  }
  template <class First, class Second>
  Json of(const std::pair<First, Second>* /*which*/) {
    Json schema = typed("array");
    schema.add("prefixItems", Json::Array{schema_of<First>(), schema_of<Second>()});
    return schema;
  }
  template <class T>
  Json of(const T* /*which*/) {
    if constexpr (HasFields<T>) {
      return reference(typeid(T), [this] { return object_of<T>(); });
    } else if constexpr (std::same_as<T, bool>) {
      return typed("boolean");
    } else if constexpr (Worded<T>) {
      return words(words_of(T{}));
    } else if constexpr (std::integral<T>) {
      Json schema = typed("integer");
      if (std::is_unsigned_v<T>) schema.add("minimum", 0);
      return schema;
    } else if constexpr (std::floating_point<T>) {
      return number();
    } else if constexpr (std::same_as<T, Dtype> || std::convertible_to<T, std::string>) {
      return typed("string");
    } else {
      static_assert(std::same_as<T, Json>, "a type without a schema");
      return Json::object();
    }
  }
  template <class T>
  Json schema_of() {
    return of(static_cast<const T*>(nullptr));
  }

  template <class T>
  Json object_of() {
    Json properties = Json::object(), required = Json::array();
    std::apply([&](const auto&... field) { (add<T>(properties, required, field), ...); }, Fields<T>::list);
    Json schema = typed("object");
    schema.add("properties", std::move(properties));
    schema.add("required", std::move(required));
    schema.add(
        "additionalProperties", requires { Fields<T>::open; });
    return schema;
  }

  template <class Struct, class Owner, class Value>
  void add(Json& properties, Json& required, const Field<Owner, Value>& field) {
    properties.add(field.key, schema_of<typename Of<Value>::Type>());
    if (std::same_as<typename Of<Value>::Type, Value> && field.present == nullptr) required.add(field.key);
  }
  template <class Struct, class Owner>
  void add(Json& properties, Json& /*required*/, const SomeFormats<Owner>& field) {
    std::vector<std::string_view> names;
    for (const Format format : field.formats) names.push_back(format_name(format));
    properties.add(field.key, words(names));
  }
  template <class Struct, class Owner, class Value>
  void add(Json& properties, Json& required, const Nullable<Owner, Value>& field) {
    Json schema = Json::object();
    schema.add("anyOf", Json::Array{schema_of<typename Of<Value>::Type>(), typed("null")});
    properties.add(field.key, std::move(schema));
    required.add(field.key);
  }
  template <class Struct, class Function>
  void add(Json& properties, Json& required, const Derived<Function>& field) {
    using Value = std::remove_cvref_t<std::invoke_result_t<Function, const Struct&>>;
    properties.add(field.key, schema_of<typename Of<Value>::Type>());
    if (std::same_as<typename Of<Value>::Type, Value>) required.add(field.key);
  }

  template <class Struct, class Owner>
  void add(Json& properties, Json& required, const Remarks<Owner>& field) {
    properties.add(field.key, array_of(typed("string")));
    properties.add(field.codes, array_of(reference(typeid(Note), note)));
    if (field.present == nullptr) required.add(field.key);
  }

  static Json typed(std::string_view type);
  /// A code, and fields of any name.
  static Json note();
  static Json array_of(Json items);
  static Json words(std::span<const std::string_view> words);
  /// A number, or the word of one that is not finite.
  Json number();
  /// Structs are defined once, under their name.
  template <class Make>
  Json reference(const std::type_info& type, Make make) {
    const std::string name = name_of(type);
    if (!definitions_.contains(name)) {
      Json made = make();
      definitions_.add(name, std::move(made));
    }
    return reference_to(name);
  }
  static std::string name_of(const std::type_info& type);
  static Json reference_to(const std::string& name);
  Json finish(Json schema, std::string_view title, std::string_view description);

  Json definitions_ = Json::object();
};

}  // namespace vernier
