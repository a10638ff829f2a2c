// The report of `vernier inspect engine` as JSON.
#include <string>

#include "report/json/document.h"
#include "report/json/fields_engine.h"

namespace vernier {

std::string report_to_json(const EngineReport& report) { return to_document(ReportKind::InspectEngine, report); }

}  // namespace vernier
