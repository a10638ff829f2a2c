#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "io/numpy_random.h"
#include "temp_files.h"
#include "vernier/error.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

// numpy.random.RandomState(1).random_sample(3), printed with repr().
TEST(NumpyRandom, GivesNumpysNumbers) {
  NumpyRandom random(1);
  EXPECT_DOUBLE_EQ(random.unit(), 0.417022004702574);
  EXPECT_DOUBLE_EQ(random.unit(), 0.7203244934421581);
  EXPECT_DOUBLE_EQ(random.unit(), 0.00011437481734488664);
}

TEST(RandomData, IsUniformInUnitRangeRepeatableAndMarked) {
  SourceOptions options;
  options.random_samples = 2;
  const std::vector<InputInfo> inputs{float_input("x", {-1, 1000})};
  const auto source = open_samples(options, inputs);
  EXPECT_TRUE(source->is_random());
  EXPECT_EQ(source->description(), "random data, uniform in [0, 1], seed 1, 2 samples");
  const Tensor first = source->at(0).at("x");
  EXPECT_EQ(first.shape(), (Shape{1, 1000}));
  EXPECT_FLOAT_EQ(first.floats()[0], 0.417022F);
  for (const float value : first.floats()) EXPECT_TRUE(value >= 0 && value <= 1);
  EXPECT_NE(source->at(1).at("x").floats()[0], first.floats()[0]);
  EXPECT_EQ(open_samples(options, inputs)->at(1).at("x").floats()[0], source->at(1).at("x").floats()[0]);
}

TEST(RandomData, IndicesStayWithinTheirLimit) {
  SourceOptions options;
  options.value_ranges[""] = {-3, 1000};
  const auto source = open_samples(options, {{"ids", Dtype::Int64, {1, 2000}, 7}});
  std::vector<int> seen(7, 0);
  const Tensor ids = source->at(0).at("ids");
  for (const std::int64_t id : ids.int64s()) ++seen.at(static_cast<std::size_t>(id));
  for (const int count : seen) EXPECT_GT(count, 0);
}

TEST(RandomData, RangesGoByInputAndWildcard) {
  SourceOptions options;
  options.value_ranges = {{"", {2, 3}}, {"img*", {5, 6}}};
  const Sample sample = open_samples(options, {float_input("img_left", {4}), float_input("y", {4})})->at(0);
  for (const float value : sample.at("img_left").floats()) EXPECT_TRUE(value >= 5 && value <= 6);
  for (const float value : sample.at("y").floats()) EXPECT_TRUE(value >= 2 && value <= 3);
}

TEST(RandomData, ShapesFillDynamicDimensionsOnly) {
  SourceOptions options;
  options.shapes["x"] = {4, 3};
  EXPECT_EQ(open_samples(options, {float_input("x", {-1, 3})})->at(0).at("x").shape(), (Shape{4, 3}));
  EXPECT_EQ(error_of([&] { open_samples(options, {float_input("x", {-1, 5})}); }).kind(), ErrorKind::Usage);
  EXPECT_EQ(error_of([&] { open_samples(options, {float_input("X1", {-1, 3})}); }).hint(), "nearest: X1");
}

TEST(RandomData, AShapeTensorTakesTheShapeAsItsValues) {
  SourceOptions options;
  options.shapes["new_shape"] = {2, 3, 4};
  const Tensor tensor = open_samples(options, {{"new_shape", Dtype::Int64, {3}, 0}})->at(0).at("new_shape");
  EXPECT_EQ(std::vector<std::int64_t>(tensor.int64s().begin(), tensor.int64s().end()),
            (std::vector<std::int64_t>{2, 3, 4}));
}

TEST(RandomData, CarriedStateIsZero) {
  SourceOptions options;
  options.carried = {"state"};
  const Tensor state = open_samples(options, {float_input("x", {2}), float_input("state", {8})})->at(0).at("state");
  for (const float value : state.floats()) EXPECT_EQ(value, 0.0F);
}

TEST(RandomData, RefusesRangesThatAreNone) {
  for (const std::pair<double, double>& range :
       {std::pair(1.0, 0.0), std::pair(0.0, std::numeric_limits<double>::infinity()), std::pair(0.0, 300.0)}) {
    SourceOptions options;
    options.value_ranges["x"] = range;
    EXPECT_EQ(error_of([&] { open_samples(options, {{"x", Dtype::UInt8, {2}, 0}}); }).kind(), ErrorKind::Usage);
  }
}

TEST(RandomData, ANetworkWithoutInputsHasOneEmptySample) { EXPECT_TRUE(open_samples({}, {})->at(0).empty()); }

// Every type, drawn by NumPy as the peer's loader draws it, compared bit by bit.
TEST(RandomData, EqualsWhatNumpyDrawsForEveryType) {
  const TempFolder folder;
  write_file(folder / "draw.py", R"(
import sys
import numpy as np
rng = np.random.RandomState(5 + 1)
out = open(sys.argv[1], 'wb')
for dtype, low, high in (('f4', -1, 3), ('f2', -1, 3), ('f8', -1, 3), ('i8', -5, 70), ('i4', 0, 1), ('u1', 3, 90), ('i1', -7, 7),
                         ('i2', 0, 999), ('u4', 0, 2**32 - 1), ('i8', 0, 2**40), ('?', 0, 1), ('f4', 0, 1)):
    d = np.dtype(dtype)
    if d.kind == 'f':
        a = (rng.random_sample(37) * (high - low) + low).astype(d)
    else:
        a = rng.randint(low, high + 1, size=37, dtype=d)
    out.write(a.tobytes())
)");
  const auto status = run_python("numpy", folder / "draw.py", "'" + (folder / "drawn").string() + "'");
  if (!status) VERNIER_SKIP_OR_FAIL("no Python with numpy");
  ASSERT_EQ(*status, 0);

  SourceOptions options;
  options.seed = 5;
  options.random_samples = 2;
  struct Row {
    Dtype dtype;
    double low, high;
  };
  const std::vector<Row> rows{{Dtype::Float32, -1, 3},
                              {Dtype::Float16, -1, 3},
                              {Dtype::Float64, -1, 3},
                              {Dtype::Int64, -5, 70},
                              {Dtype::Int32, 0, 1},
                              {Dtype::UInt8, 3, 90},
                              {Dtype::Int8, -7, 7},
                              {Dtype::Int16, 0, 999},
                              {Dtype::UInt32, 0, 4294967295.0},
                              {Dtype::Int64, 0, 1099511627776.0},
                              {Dtype::Bool, 0, 1},
                              {Dtype::Float32, 0, 1}};
  std::vector<InputInfo> inputs;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    inputs.push_back({"input" + std::to_string(i), rows[i].dtype, {37}, 0});
    options.value_ranges[inputs.back().name] = {rows[i].low, rows[i].high};
  }
  const Sample sample = open_samples(options, inputs)->at(1);
  std::string mine;
  for (const InputInfo& input : inputs) {
    const auto bytes = sample.at(input.name).bytes();
    mine.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
  std::string theirs(mine.size() + 1, '\0');
  std::FILE* file = std::fopen((folder / "drawn").c_str(), "rb");
  ASSERT_NE(file, nullptr);
  theirs.resize(std::fread(theirs.data(), 1, theirs.size(), file));
  std::fclose(file);
  ASSERT_EQ(mine.size(), theirs.size());
  for (std::size_t i = 0, at = 0; i < inputs.size(); ++i) {
    const std::size_t size = sample.at(inputs[i].name).byte_size();
    EXPECT_EQ(std::memcmp(mine.data() + at, theirs.data() + at, size), 0) << "array " << i;
    at += size;
  }
}

}  // namespace
}  // namespace vernier
