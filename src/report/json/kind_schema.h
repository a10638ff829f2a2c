// JSON Schema of a document: what wrote it, then the fields of the report.
#pragma once

#include <string_view>
#include <utility>

#include "json/json.h"
#include "json/schema.h"
#include "vernier/report/kind.h"

namespace vernier {

template <class Report>
Json kind_schema(ReportKind kind, std::string_view description, std::string_view title = "report.json") {
  Json schema = SchemaWriter::document<Report>(title, description);
  Json constant = Json::object();
  constant.add("const", word_of(kind));
  Json::Object& properties = schema.at("properties").members();
  properties.insert(properties.begin(), {"kind", std::move(constant)});
  schema.at("required").add("kind");
  return schema;
}

}  // namespace vernier
