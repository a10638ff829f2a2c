#include "jobs/search/measurement_store.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "distributed/ranks.h"
#include "distributed/wire.h"
#include "jobs/search/measured.h"
#include "jobs/search/measurement_records.h"
#include "temp_files.h"

namespace vernier {
namespace {

Message bytes_of(const std::string& text) {
  Packer packer;
  packer.put(text);
  return packer.take();
}

std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

TEST(MeasurementStore, GivesBackWhatWasPutUnderThatIdentityAlone) {
  const TempFolder folder;
  {
    MeasurementStore store(folder / "new/folder");
    store.open("network");
    EXPECT_EQ(store.find("own"), nullptr);
    store.put("own", bytes_of("errors"));
    store.put("low", {});
    store.open("another");
    EXPECT_EQ(store.find("own"), nullptr);
    store.open("network");
    ASSERT_NE(store.find("own"), nullptr);
    EXPECT_FALSE(store.is_earlier("own")) << "it was measured here";
    store.save();
  }
  MeasurementStore again(folder / "new/folder");
  again.open("network");
  ASSERT_NE(again.find("own"), nullptr);
  EXPECT_EQ(*again.find("own"), bytes_of("errors"));
  EXPECT_EQ(*again.find("low"), Message());
  EXPECT_TRUE(again.is_earlier("own") && again.is_earlier("low"));
  again.put("own", bytes_of("others"));
  EXPECT_FALSE(again.is_earlier("own"));
  again.open("another");
  EXPECT_EQ(again.find("own"), nullptr);
}

TEST(MeasurementStore, KeepsWordsOnceForWhatTheyStandFor) {
  const TempFolder folder;
  int measured = 0;
  const auto words = [&](MeasurementStore* store, const std::string& of) {
    return words_kept_in(store, of, [&] { return "measured " + std::to_string(++measured); });
  };
  MeasurementStore store(folder.path());
  EXPECT_EQ(words(&store, "these inputs"), "measured 1");
  EXPECT_EQ(words(&store, "other inputs"), "measured 2");
  EXPECT_EQ(words(&store, ""), "measured 3") << "nothing says what they are of";
  EXPECT_EQ(words(nullptr, "these inputs"), "measured 4");
  MeasurementStore again(folder.path());
  EXPECT_EQ(words(&again, "these inputs"), "measured 1");
}

TEST(MeasurementStore, TakesABrokenFileForNone) {
  const TempFolder folder;
  MeasurementStore first(folder.path());
  first.open("network");
  first.put("own", bytes_of("a record that is long enough to be cut"));
  first.save();
  const std::filesystem::path file = files_in(folder.path()).at(0);
  const auto whole = std::filesystem::file_size(file);
  for (std::uintmax_t size = 0; size < whole; ++size) {
    std::filesystem::resize_file(file, size);
    MeasurementStore cut(folder.path());
    cut.open("network");
    EXPECT_EQ(cut.find("own"), nullptr) << "of " << size << " bytes";
    first.put("own", bytes_of("a record that is long enough to be cut"));
    first.save();
  }
  {
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(static_cast<std::streamoff>(whole) - 3);
    out.put('#');
  }
  MeasurementStore changed(folder.path());
  changed.open("network");
  EXPECT_EQ(changed.find("own"), nullptr) << "one byte is another";
}

TEST(MeasurementStore, RemovesWhatWasUsedLongestAgo) {
  const TempFolder folder;
  const auto keep = [&](const std::string& identity) {
    MeasurementStore store(folder.path(), 2000);
    store.open(identity);
    store.put("own", Message(800));
    store.save();
  };
  const auto aged = [&](const std::string& identity, int hours) {
    std::filesystem::last_write_time(folder / (identity + ".measured"),
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  keep("a");
  aged("a", 3);
  keep("b");
  aged("b", 2);
  {
    MeasurementStore used(folder.path(), 2000);
    used.open("a");
  }
  keep("c");
  EXPECT_TRUE(std::filesystem::exists(folder / "a.measured")) << "it was used since";
  EXPECT_FALSE(std::filesystem::exists(folder / "b.measured"));
  EXPECT_TRUE(std::filesystem::exists(folder / "c.measured"));
}

TEST(MeasurementStore, ADiskThatRefusesIsNoError) {
  MeasurementStore store("/dev/null/no folder");
  store.open("network");
  store.put("own", bytes_of("errors"));
  store.save();
  EXPECT_NE(store.find("own"), nullptr);
}

/// Bytes of what reads back from the bytes of `value`.
template <class T>
void expect_same_again(const T& value) {
  Packer packer;
  records::put(packer, value);
  const Message bytes = packer.take();
  Unpacker unpacker(bytes);
  T read;
  records::get(unpacker, read);
  EXPECT_TRUE(unpacker.empty());
  Packer again;
  records::put(again, read);
  EXPECT_EQ(again.take(), bytes);
}

TEST(MeasurementRecords, ReadBackAsTheyWere) {
  OutputStats stats;
  stats.pooled.error_energy = 0.1;
  stats.class_axis = -1;
  stats.each = {{1, 0.1, 2, 1, 7}};
  const std::map<std::string, OutputStats> outputs{{"y", stats}, {"z", {}}};
  expect_same_again(outputs);
  LayerError error;
  error.layer = "conv";
  error.format = Format::Int8;
  error.error.max_abs_error = 3;
  error.tensors = {"y", "z"};
  error.events.flushed = 5;
  expect_same_again(std::vector<LayerError>{error, {}});
  expect_same_again(Lockstep{{error.error}, outputs, {0.5, 1.5}});
  SampleOutcome outcome;
  outcome.rows = 3;
  outcome.along_last = false;
  expect_same_again(records::Trials{{"plan", {{3, {outcome, outcome}}, {9, {}}}}, {"none", {}}});
  expect_same_again(LayerProbe{error.error, {}, {1, 2}});
  expect_same_again(Magnitudes{{1, 2}, {3}});
  ValuePicture picture;
  picture.tensor = "x";
  picture.role = PictureRole::Weight;
  picture.reference = {1, 2};
  picture.step = 0.25;
  picture.channels = ChannelRanges{"w", 2, 1, {-1, -2}, {1, 2}};
  expect_same_again(std::vector<LayerPicture>{{"conv", 4, {picture, {}}}, {}});
}

TEST(MeasurementStore, WhatCouldNotBeWrittenIsNotSaidToBeKeptLater) {
  const TempFolder folder;
  const std::filesystem::path file = folder / "a file";
  std::ofstream(file) << "no folder";
  MeasurementStore store(file);
  store.open("network");
  store.put("own", bytes_of("errors"));
  EXPECT_FALSE(store.save());
  EXPECT_FALSE(store.refused().empty());
  EXPECT_FALSE(store.save()) << "nothing is new, and nothing is kept";
  std::filesystem::remove(file);
  store.put("low", bytes_of("more"));
  EXPECT_TRUE(store.save());
  MeasurementStore again(file);
  again.open("network");
  EXPECT_NE(again.find("own"), nullptr);
}

}  // namespace
}  // namespace vernier
