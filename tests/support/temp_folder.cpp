#include "temp_folder.h"

#include <cstdlib>
#include <system_error>

#include "vernier/error.h"

namespace vernier {

TempFolder::TempFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "vernier_test_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw Error(ErrorKind::Internal, "no temporary folder");
  path_ = name;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace vernier
