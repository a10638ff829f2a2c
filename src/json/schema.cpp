#include "json/schema.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <span>

namespace vernier {

Json SchemaWriter::typed(std::string_view type) {
  Json schema = Json::object();
  schema.add("type", type);
  return schema;
}

Json SchemaWriter::note() {
  Json schema = typed("object");
  schema.add("properties", Json::Object{{"code", typed("string")}});
  schema.add("required", Json::Array{"code"});
  return schema;
}

Json SchemaWriter::array_of(Json items) {
  Json schema = typed("array");
  schema.add("items", std::move(items));
  return schema;
}

Json SchemaWriter::words(std::span<const std::string_view> words) {
  Json listed = Json::array();
  for (const std::string_view word : words) listed.add(word);
  Json schema = Json::object();
  schema.add("enum", std::move(listed));
  return schema;
}

Json SchemaWriter::number() {
  const std::string name = "Number";
  if (!definitions_.contains(name)) {
    Json schema = Json::object();
    schema.add("anyOf", Json::Array{typed("number"), words(std::vector<std::string_view>{"inf", "-inf", "nan"})});
    definitions_.add(name, std::move(schema));
  }
  return reference_to(name);
}

std::string SchemaWriter::name_of(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  std::string name = status == 0 ? readable.get() : type.name();
  for (const std::string_view scope : {"vernier::", "(anonymous namespace)::"}) {
    if (name.starts_with(scope)) name.erase(0, scope.size());
  }
  for (std::size_t at = name.find("::"); at != std::string::npos; at = name.find("::")) name.replace(at, 2, ".");
  return name;
}

Json SchemaWriter::reference_to(const std::string& name) {
  Json schema = Json::object();
  schema.add("$ref", "#/$defs/" + name);
  return schema;
}

Json SchemaWriter::finish(Json schema, std::string_view title, std::string_view description) {
  Json document = Json::object();
  document.add("$schema", "https://json-schema.org/draft/2020-12/schema");
  document.add("title", title);
  document.add("description", description);
  for (Json::Member& member : schema.members()) document.add(member.key, std::move(member.value));
  document.add("$defs", std::move(definitions_));
  return document;
}

}  // namespace vernier
