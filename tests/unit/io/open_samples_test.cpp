#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "temp_files.h"
#include "vernier/error.h"
#include "vernier/samples.h"

namespace vernier {
namespace {

Error open_error(const std::filesystem::path& path) {
  return error_of([&] { open_samples(from(path), {float_input("x", {1, 2})}); });
}

TEST(OpenSamples, KnowsFilesByContentNotByName) {
  const TempFolder folder;
  write_file(folder / "data.bin", npy_of({1, 2}, counting(2)));
  EXPECT_EQ(open_samples(from(folder / "data.bin"), {float_input("x", {1, 2})})->size(), 1U);
}

TEST(OpenSamples, LimitTakesTheFirstSamplesAndSaysSo) {
  const TempFolder folder;
  write_file(folder / "a.npy", npy_of({5, 1, 2}, counting(10)));
  SourceOptions options = from(folder / "a.npy");
  options.limit = 2;
  const auto source = open_samples(options, {float_input("x", {1, 2})});
  EXPECT_EQ(source->size(), 2U);
  EXPECT_NE(source->description().find("2 samples of 5"), std::string::npos);
  EXPECT_EQ(error_of([&] { source->at(2); }).kind(), ErrorKind::Internal);
}

TEST(OpenSamples, SaysThatBytesBecameFloats) {
  const TempFolder folder;
  write_file(folder / "pixels.npy", npy_of("|u1", "(1, 2)", "\x07\xff"));
  const auto source = open_samples(from(folder / "pixels.npy"), {float_input("x", {1, 2})});
  EXPECT_EQ(source->at(0).at("x").floats()[1], 255.0F);
  EXPECT_NE(source->description().find("bytes taken as floats from 0 to 255"), std::string::npos);
  write_file(folder / "a.npy", npy_of({1, 2}, counting(2)));
  EXPECT_EQ(open_samples(from(folder / "a.npy"), {float_input("x", {1, 2})})->description().find("bytes"),
            std::string::npos);
}

TEST(OpenSamples, RefusesWhatItCannotUse) {
  const TempFolder folder;
  EXPECT_NE(std::string(open_error(folder / "nothing").what()).find("no such file"), std::string::npos);
  EXPECT_NE(std::string(open_error(folder.path()).what()).find("is empty"), std::string::npos);
  write_file(folder / "empty.npy", "");
  EXPECT_NE(std::string(open_error(folder / "empty.npy").what()).find("is empty"), std::string::npos);
  write_file(folder / "a.pkl", "\x80\x04 pickle");
  EXPECT_NE(std::string(open_error(folder / "a.pkl").what()).find("pickle"), std::string::npos);
  write_file(folder / "a.txt", "hello");
  EXPECT_NE(open_error(folder / "a.txt").hint().find("known: .npy"), std::string::npos);
  EXPECT_EQ(open_error("/dev/null").kind(), ErrorKind::Input);
}

TEST(OpenSamples, RefusesDataWithoutASingleRow) {
  const TempFolder folder;
  write_file(folder / "none.npy", npy_of({0, 2}, {}));
  const Error alone = error_of([&] { open_samples(from(folder / "none.npy"), {float_input("x", {-1, 2})}); });
  EXPECT_EQ(alone.kind(), ErrorKind::Input);
  EXPECT_NE(std::string(alone.what()).find("none.npy: no sample has a value: the array for input 'x' has shape 0x2"),
            std::string::npos);

  const auto boxes = float_input("boxes", {-1, 4}), image = float_input("image", {1, 2});
  const std::string none = npy_of({0, 4}, {}), pixels = npy_of({1, 2}, counting(2));
  write_zip(folder / "none.npz", {{"boxes.npy", none}, {"image.npy", npy_of({0, 2}, {})}}, false);
  const Error other = error_of([&] {
    open_samples(from(folder / "none.npz"), {boxes, float_input("image", {-1, 2})});
  });
  EXPECT_NE(std::string(other.what()).find("input 'boxes' has shape 0x4"), std::string::npos);

  // An image without boxes is a sample, and so is a cache that holds no step yet.
  write_zip(folder / "a.npz", {{"boxes.npy", none}, {"image.npy", pixels}}, false);
  EXPECT_EQ(open_samples(from(folder / "a.npz"), {boxes, image})->size(), 1U);
  write_zip(folder / "b.npz",
            {{"sample_0/boxes.npy", none},
             {"sample_0/image.npy", pixels},
             {"sample_1/boxes.npy", npy_of({1, 4}, counting(4))},
             {"sample_1/image.npy", pixels}},
            false);
  EXPECT_EQ(open_samples(from(folder / "b.npz"), {boxes, image})->size(), 2U);
  write_zip(folder / "c.npz", {{"past.npy", npy_of({1, 0, 4}, {})}, {"image.npy", pixels}}, false);
  EXPECT_EQ(open_samples(from(folder / "c.npz"), {float_input("past", {1, -1, 4}), image})->size(), 1U);
  EXPECT_EQ(open_samples(from(folder / "none.npy"), {float_input("x", {0, 2})})->size(), 1U);
}

TEST(OpenSamples, DoesNotGuessAtAMixedFolder) {
  const TempFolder folder;
  write_zip(folder / "a.npz", {{"x.npy", npy_of({1, 2}, counting(2))}}, false);
  write_file(folder / "b.png", "x");
  EXPECT_NE(std::string(open_error(folder.path()).what()).find("holds both a folder of .npz and images"),
            std::string::npos);
}

TEST(OpenSamples, HostileNamesArePrintable) {
  EXPECT_NE(std::string(open_error("\x1b[2Jx").what()).find("\\x1b"), std::string::npos);
}

}  // namespace
}  // namespace vernier
