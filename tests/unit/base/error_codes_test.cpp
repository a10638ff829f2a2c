#include <gtest/gtest.h>

#include <set>
#include <string>

#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/marks.h"

namespace vernier {
namespace {

TEST(ErrorCodes, AreInOrderAndHaveAKindAndAllParts) {
  int last = 0;
  std::set<std::string> titles;
  for (const ErrorPage& page : error_pages()) {
    EXPECT_GT(static_cast<int>(page.code), last);
    last = static_cast<int>(page.code);
    const ErrorKind kind = kind_of(page.code);
    EXPECT_TRUE(kind == ErrorKind::Usage || kind == ErrorKind::Input || kind == ErrorKind::Backend ||
                kind == ErrorKind::Internal)
        << last;
    EXPECT_TRUE(titles.insert(page.title).second) << page.title;
    for (const std::string text : {page.title, page.why, page.cure, page.command}) EXPECT_FALSE(text.empty()) << last;
    EXPECT_TRUE(marked_in(page.title).empty());
    EXPECT_EQ(std::string(page.command).find("vernier ") != std::string::npos, marked_in(page.command).size() == 1);
  }
}

TEST(ErrorCodes, AnErrorByItsKindHasTheGeneralCode) {
  EXPECT_EQ(Error(ErrorKind::Usage, "").code(), ErrorCode::Usage);
  EXPECT_EQ(Error(ErrorKind::Input, "").code(), ErrorCode::Input);
  EXPECT_EQ(Error(ErrorKind::Backend, "").code(), ErrorCode::Backend);
  EXPECT_EQ(Error(ErrorKind::Internal, "").code(), ErrorCode::Internal);
  EXPECT_EQ(Error(ErrorKind::Interrupted, "").code(), ErrorCode::None);
  EXPECT_EQ(Error(ErrorCode::None, "").kind(), ErrorKind::Interrupted);
  EXPECT_EQ(Error(ErrorCode::Internal, "").kind(), ErrorKind::Internal);
}

TEST(ErrorCodes, HaveNames) {
  EXPECT_EQ(code_name(ErrorCode::FileMissing), "E301");
  EXPECT_EQ(code_name(ErrorCode::None), "");
}

}  // namespace
}  // namespace vernier
