// What a bundle says of itself.
#pragma once

#include <string>

#include "vernier/report/diagnose.h"

namespace vernier {

/// The command that shows the layer's error again, in the folder of the bundle's files. `ranges`: ranges.json is one.
std::string bundle_command(const DiagnoseReport& report, bool ranges);

/// README.md of the bundle. `report`: with the row of the layer alone.
std::string bundle_readme(const DiagnoseReport& report, bool ranges);

}  // namespace vernier
