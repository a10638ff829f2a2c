#include "data/npy.h"

#include <gtest/gtest.h>

#include "temp_files.h"

namespace vernier {
namespace {

Tensor read(const std::string& file) {
  const auto owner = std::make_shared<const std::string>(file);
  return read_npy(std::as_bytes(std::span(*owner)), owner, "a.npy");
}

std::string message_of(const std::string& file) {
  const Error error = error_of([&] { read(file); });
  EXPECT_EQ(error.kind(), ErrorKind::Input);
  return error.what();
}

TEST(Npy, ReadsWhatNumpyWrites) {
  const Tensor tensor = read(npy_of({2, 3}, counting(6)));
  EXPECT_EQ(tensor.dtype(), Dtype::Float32);
  EXPECT_EQ(tensor.shape(), (Shape{2, 3}));
  EXPECT_EQ(tensor.floats()[5], 5.0F);
  EXPECT_EQ(read(npy_of("<i8", "()", std::string(8, '\0'))).shape(), Shape{});
  EXPECT_EQ(read(npy_of("|b1", "(2,)", std::string(2, '\1'))).dtype(), Dtype::Bool);
}

TEST(Npy, ReadsVersionTwoHeaders) {
  std::string file = npy_of({1}, {4});
  const std::string length = file.substr(8, 2);
  file = file.substr(0, 6) + std::string("\x02\x00", 2) + length + std::string(2, '\0') + file.substr(10);
  EXPECT_EQ(read(file).floats()[0], 4.0F);
}

TEST(Npy, KeysMayComeInAnyOrder) {
  std::string file = npy_of("<f4", "(1,)", std::string(4, '\0'));
  const std::string swapped = "{'shape': (1L,), 'fortran_order': False, 'descr': \"<f4\"}";
  const std::size_t end = file.find('\n');
  std::string header = swapped + std::string(end - 10 - swapped.size(), ' ');
  EXPECT_EQ(read(file.substr(0, 10) + header + file.substr(end)).shape(), Shape{1});
}

TEST(Npy, EveryTruncationIsRefused) {
  const std::string file = npy_of({2, 3}, counting(6));
  for (std::size_t size = 0; size < file.size(); ++size) EXPECT_THROW(read(file.substr(0, size)), Error) << size;
}

TEST(Npy, TrailingBytesAreRefused) {
  EXPECT_NE(message_of(npy_of({1}, {1}) + "x").find("promises float32 of shape 1, 4 bytes, but 5 bytes follow"),
            std::string::npos);
}

TEST(Npy, HugeShapesTakeNoMemory) {
  EXPECT_NE(message_of(npy_of("<f4", "(4000000000, 4000000000)", "")).find("too large"), std::string::npos);
  EXPECT_NE(message_of(npy_of("<f4", "(1000000000000,)", "")).find("promises"), std::string::npos);
  EXPECT_NE(message_of(npy_of("<f4", "(99999999999999999999999,)", "")).find("damaged"), std::string::npos);
  EXPECT_NE(message_of(npy_of("<f4", "(-1,)", "")).find("damaged"), std::string::npos);
}

TEST(Npy, RefusesWhatItDoesNotReadAndSaysHowToSaveIt) {
  EXPECT_NE(message_of(npy_of("<f4", "(1, 2)", std::string(8, '\0'), "True")).find("Fortran"), std::string::npos);
  EXPECT_NE(message_of(npy_of(">f4", "(1,)", std::string(4, '\0'))).find("big-endian"), std::string::npos);
  EXPECT_NE(message_of(npy_of("|O", "(1,)", std::string(8, '\0'))).find("pickle"), std::string::npos);
  EXPECT_NE(message_of(npy_of("<c8", "(1,)", std::string(8, '\0'))).find("'<c8'"), std::string::npos);
  EXPECT_NE(message_of(npy_of("<U1\x1b[2J", "(1,)", "")).find("\\x1b"), std::string::npos);
}

TEST(Npy, FortranOrderOfAVectorIsCOrder) {
  EXPECT_EQ(read(npy_of("<f4", "(1,)", std::string(4, '\0'), "True")).shape(), Shape{1});
}

}  // namespace
}  // namespace vernier
