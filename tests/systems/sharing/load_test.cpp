// SPDX-License-Identifier: Apache-2.0
// Weights from files: what is attached is what the files hold, also of a shard.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "aqua/runtime.hpp"
#include "aqua/sharing/load_weights.hpp"
#include "aqua/sharing/models.hpp"
#include "aqua/sharing/shared_weights.hpp"
#include "tests/base/open_emulated.hpp"
#include "tests/keeper/keeper_process.hpp"
#include "tests/systems/sharing/model_bytes.hpp"

namespace aqua::sharing {
namespace {

using namespace aqua::literals;

constexpr std::uint64_t kRows = 64, kColumns = 96;  // of bytes

class LoadedFromFiles : public ::testing::Test {
 protected:
  // Byte i of a file's data: of no short period, so that what is read from elsewhere differs.
  static std::byte byte(std::uint64_t i, unsigned seed) {
    return static_cast<std::byte>(i * 7 + i / 251 + seed);
  }
  std::string write(const std::string& name, const std::string& bytes) {
    std::ofstream(directory_ / name, std::ios::binary) << bytes;
    return directory_ / name;
  }
  // A file of such tensors of kRows x kColumns bytes.
  std::string file(const std::string& name, const std::vector<std::string>& tensors,
                   unsigned seed) {
    nlohmann::json header;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      header[tensors[i]] = {{"dtype", "U8"},
                            {"shape", {kRows, kColumns}},
                            {"data_offsets", {i * kRows * kColumns, (i + 1) * kRows * kColumns}}};
    }
    std::string bytes = safetensors_bytes(header.dump(), 0);
    for (std::size_t i = 0; i < tensors.size() * kRows * kColumns; ++i) {
      bytes += static_cast<char>(byte(i, seed));
    }
    return write(name, bytes);
  }
  // Byte (row, column) of a file's tensor of this number.
  static std::byte at(std::size_t tensor, std::uint64_t row, std::uint64_t column, unsigned seed) {
    return byte(tensor * kRows * kColumns + row * kColumns + column, seed);
  }
  Result<LoadedWeights> load(const std::vector<std::string>& files, LoadOptions options = {}) {
    if (options.model.empty()) options.model = "m";
    if (options.version.empty()) options.version = "1";
    options.slab_bytes = 2_MiB;
    options.keeper = keeper_.socket();
    return load_weights(loader_, files, options);
  }
  SharedWeights attach(std::uint32_t shard = 0, std::uint32_t shards = 1) {
    return SharedWeights::attach(
               engine_,
               {.model = "m", .shard = shard, .shards = shards, .keeper = keeper_.socket()})
        .value();
  }
  void expect_refused(const Result<LoadedWeights>& loaded, Code code, const std::string& words) {
    ASSERT_FALSE(loaded.ok()) << words;
    EXPECT_EQ(loaded.error().code, code) << loaded.error().message;
    EXPECT_NE(loaded.error().message.find(words), std::string::npos) << loaded.error().message;
    EXPECT_TRUE(list_models(keeper_.socket())->empty()) << "nothing is left of it";
  }

  aqua::testing::TempDir directory_;
  test::KeeperProcess keeper_;
  Runtime loader_ = test::open_emulated(16_MiB, 2_MiB);
  Runtime engine_ = test::open_emulated(16_MiB, 2_MiB);
};

TEST_F(LoadedFromFiles, TensorsOfSeveralFilesAreThereByteForByte) {
  std::uint64_t told = 0, of = 0;
  const auto loaded = load({file("one", {"a", "b"}, 1), file("two", {"c"}, 2)},
                           {.on_progress = [&](std::uint64_t done, std::uint64_t all) {
                             EXPECT_GT(done, told);
                             told = done;
                             of = all;
                           }});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->tensors, 3U);
  EXPECT_EQ(loaded->bytes, 3 * kRows * kColumns);
  EXPECT_EQ(loaded->slab_bytes, 2_MiB);
  EXPECT_EQ(told, loaded->bytes);
  EXPECT_EQ(of, loaded->bytes);
  const SharedWeights weights = attach();
  const std::tuple<const char*, std::size_t, unsigned> tensors[] = {
      {"a", 0, 1}, {"b", 1, 1}, {"c", 0, 2}};
  for (const auto& [name, number, seed] : tensors) {
    const std::byte* const bytes = weights.find(name)->address;
    for (std::uint64_t i = 0; i < kRows * kColumns; ++i) {
      ASSERT_EQ(bytes[i], at(number, i / kColumns, i % kColumns, seed)) << name << " " << i;
    }
  }
}

// Read in several pieces, and over five slabs.
TEST_F(LoadedFromFiles, ALargeTensorIsThereByteForByte) {
  constexpr std::uint64_t kBytes = 9_MiB + 77;
  const nlohmann::json header{
      {"large", {{"dtype", "U8"}, {"shape", {kBytes}}, {"data_offsets", {0, kBytes}}}}};
  std::string bytes = safetensors_bytes(header.dump(), 0);
  for (std::uint64_t i = 0; i < kBytes; ++i) bytes += static_cast<char>(byte(i, 5));
  const auto loaded = load({write("large", bytes)});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->slab_bytes, 10_MiB);
  const SharedWeights weights = attach();
  const auto tensor = weights.find("large");
  ASSERT_EQ(tensor->bytes, kBytes);
  EXPECT_EQ(std::memcmp(tensor->address, bytes.data() + bytes.size() - kBytes, kBytes), 0);
}

TEST_F(LoadedFromFiles, EachShardHasItsPartOfWhatIsCut) {
  const std::string path = file("model", {"rows", "columns", "whole"}, 3);
  for (const std::uint32_t shard : {0U, 1U}) {
    ASSERT_TRUE(
        load({path}, {.shard = shard, .shards = 2, .rules = {{"rows", 0}, {"col*", 1}}}).ok());
  }
  for (const std::uint32_t shard : {0U, 1U}) {
    const SharedWeights weights = attach(shard, 2);
    const auto rows = weights.find("rows");
    const auto columns = weights.find("columns");
    EXPECT_EQ(rows->info->shape, (std::vector<std::uint64_t>{kRows / 2, kColumns}));
    EXPECT_EQ(columns->info->shape, (std::vector<std::uint64_t>{kRows, kColumns / 2}));
    EXPECT_EQ(weights.find("whole")->bytes, kRows * kColumns);
    for (std::uint64_t row = 0; row < kRows; ++row) {
      for (std::uint64_t column = 0; column < kColumns; ++column) {
        if (row < kRows / 2) {
          ASSERT_EQ(rows->address[row * kColumns + column],
                    at(0, row + shard * kRows / 2, column, 3));
        }
        if (column < kColumns / 2) {
          ASSERT_EQ(columns->address[row * kColumns / 2 + column],
                    at(1, row, column + shard * kColumns / 2, 3));
        }
        ASSERT_EQ(weights.find("whole")->address[row * kColumns + column], at(2, row, column, 3));
      }
    }
  }
}

TEST_F(LoadedFromFiles, WhatCannotBeLoadedIsNamedAndLeavesNothing) {
  const std::string good = file("good", {"a"}, 1);
  std::ofstream(directory_ / "noise") << "neither of the two formats";
  expect_refused(load({}), Code::invalid_argument, "no file is named");
  expect_refused(load({directory_ / "none"}), Code::not_found, "none");
  expect_refused(load({directory_.path()}), Code::invalid_argument, "no ordinary file");
  expect_refused(load({good, directory_ / "noise"}), Code::invalid_argument, "noise");
  expect_refused(load({good, file("again", {"a"}, 1)}), Code::invalid_argument, "a: is in file 0");
  expect_refused(load({good}, {.shards = 5, .rules = {{"a", 0}}}), Code::invalid_argument,
                 "cannot be cut into 5");
}

TEST_F(LoadedFromFiles, AFileThatIsWrittenMeanwhileIsNotPublished) {
  const std::string path = file("model", {"a"}, 1);
  const auto write_to_it = [&](std::uint64_t, std::uint64_t) {
    std::fstream open(path, std::ios::binary | std::ios::in | std::ios::out);
    open.seekp(-1, std::ios::end);
    open.put('x');
    open.close();
    // Whatever the grain of the file system's clock.
    std::filesystem::last_write_time(
        path, std::filesystem::file_time_type::clock::now() + std::chrono::seconds(2));
  };
  expect_refused(load({path}, {.on_progress = write_to_it}), Code::aborted, "was written");
  EXPECT_TRUE(load({path}).ok()) << "again";
}

}  // namespace
}  // namespace aqua::sharing
