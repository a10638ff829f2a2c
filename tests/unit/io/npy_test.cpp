#include "io/npy.h"

#include <gtest/gtest.h>

#include "temp_files.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

Tensor read(const std::string& file) {
  const auto owner = std::make_shared<const std::string>(file);
  return read_npy(std::as_bytes(std::span(*owner)), owner, "a.npy");
}

std::string refusal_of(const std::string& file) {
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
  EXPECT_NE(refusal_of(npy_of({1}, {1}) + "x").find("promises float32 of shape 1, 4 bytes, but 5 bytes follow"),
            std::string::npos);
}

TEST(Npy, HugeShapesTakeNoMemory) {
  EXPECT_NE(refusal_of(npy_of("<f4", "(4000000000, 4000000000)", "")).find("too large"), std::string::npos);
  EXPECT_NE(refusal_of(npy_of("<f4", "(1000000000000,)", "")).find("promises"), std::string::npos);
  EXPECT_NE(refusal_of(npy_of("<f4", "(99999999999999999999999,)", "")).find("damaged"), std::string::npos);
  EXPECT_NE(refusal_of(npy_of("<f4", "(-1,)", "")).find("damaged"), std::string::npos);
}

TEST(Npy, RefusesWhatItDoesNotReadAndSaysHowToSaveIt) {
  EXPECT_NE(refusal_of(npy_of(">f4", "(1,)", std::string(4, '\0'))).find("big-endian"), std::string::npos);
  EXPECT_NE(refusal_of(npy_of("|O", "(1,)", std::string(8, '\0'))).find("pickle"), std::string::npos);
  EXPECT_NE(refusal_of(npy_of("<c8", "(1,)", std::string(8, '\0'))).find("'<c8'"), std::string::npos);
  EXPECT_NE(refusal_of(npy_of("<U1\x1b[2J", "(1,)", "")).find("\\x1b"), std::string::npos);
}

TEST(Npy, FortranOrderIsTurnedWhereAnArrayIsReadWhole) {
  // numpy.arange(24).reshape(4, 3, 2).T, whose bytes count up in Fortran order: element [i, j, k] is 6 k + 2 j + i.
  const std::string data = npy_of({24}, counting(24)).substr(128);
  const std::string file = npy_of("<f4", "(2, 3, 4)", data, "True");
  const Tensor tensor = read(file);
  EXPECT_EQ(tensor.shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(tensor.floats()[0], 0.0F);
  EXPECT_EQ(tensor.floats()[1], 6.0F);
  EXPECT_EQ(tensor.floats()[4], 2.0F);
  EXPECT_EQ(tensor.floats()[12 + 4 + 2], 15.0F);
  EXPECT_EQ(read(npy_of("<f4", "(0, 3)", "", "True")).count(), 0);
  const Error error = error_of([&] { parse_whole_npy(std::as_bytes(std::span(file)), "a.npy"); });
  EXPECT_NE(std::string(error.what()).find("Fortran"), std::string::npos);
}

TEST(Npy, FortranOrderOfAVectorIsCOrder) {
  EXPECT_EQ(read(npy_of("<f4", "(1,)", std::string(4, '\0'), "True")).shape(), Shape{1});
}

TEST(Npy, HeadersAreWhatNumPyWrites) {
  // numpy.lib.format leaves room for a first dimension of 21 digits, hence 128 bytes for all but the longest.
  const std::optional<std::string> header = npy_header(Dtype::Int8, {3});
  ASSERT_TRUE(header);
  EXPECT_EQ(header->size(), 128U);
  EXPECT_EQ(header->substr(0, 70), std::string("\x93NUMPY\x01\x00\x76\x00", 10) +
                                       "{'descr': '|i1', 'fortran_order': False, 'shape': (3,), }   ");
  EXPECT_EQ(header->back(), '\n');
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{1, 2, 3}, Shape(32, 1000000)}) {
    const std::string made = *npy_header(Dtype::Float16, shape);
    EXPECT_EQ(made.size() % 64, 0U);
    EXPECT_EQ(npy_header_size(std::as_bytes(std::span(made)), "a.npy"), made.size());
  }
  EXPECT_FALSE(npy_header(Dtype::BFloat16, {1}));
  EXPECT_FALSE(npy_header(Dtype::Int4, {1}));
}

}  // namespace
}  // namespace vernier
