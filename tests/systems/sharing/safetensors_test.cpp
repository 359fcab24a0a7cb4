// SPDX-License-Identifier: Apache-2.0
#include "systems/sharing/decide/safetensors.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>

#include "tests/systems/sharing/model_bytes.hpp"

namespace aqua::sharing {
namespace {

using Json = nlohmann::json;

Json entry(const char* dtype, std::vector<std::uint64_t> shape, std::uint64_t from,
           std::uint64_t to) {
  return {{"dtype", dtype}, {"shape", std::move(shape)}, {"data_offsets", {from, to}}};
}

// Three tensors in 76 bytes of data; by their names they come in another order.
Json example_header() {
  return {{"__metadata__", {{"format", "pt"}, {"shape", "no tensor"}}},
          {"b", entry("BF16", {4, 6}, 0, 48)},
          {"a", entry("F32", {6}, 48, 72)},
          {"c", entry("I32", {}, 72, 76)}};
}

Result<std::vector<FileTensor>> read_safetensors(const std::string& bytes) {
  BytesSource source(bytes);
  return read_tensor_list(source, 3);
}

TEST(Safetensors, TensorsComeInTheOrderOfTheirBytes) {
  for (const char* padding : {"", "       "}) {
    const std::string header = example_header().dump() + padding;
    const std::uint64_t data = 8 + header.size();
    const auto tensors = read_safetensors(safetensors_bytes(header, 76));
    ASSERT_TRUE(tensors.ok()) << tensors.error().message;
    const std::vector<FileTensor> expected = {{"b", {"BF16", 1, 2}, {4, 6}, data, 48, 3},
                                              {"a", {"F32", 1, 4}, {6}, data + 48, 24, 3},
                                              {"c", {"I32", 1, 4}, {}, data + 72, 4, 3}};
    EXPECT_EQ(*tensors, expected);
  }
}

TEST(Safetensors, EveryDtypeHasItsBytes) {
  const std::pair<const char*, std::uint32_t> types[] = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1},
      {"U16", 2},  {"I16", 2}, {"F16", 2}, {"BF16", 2},    {"U32", 4},
      {"I32", 4},  {"F32", 4}, {"F64", 8}, {"I64", 8},     {"U64", 8}};
  for (const auto& [name, bytes] : types) {
    const Json header{{"x", entry(name, {3}, 0, std::uint64_t{3} * bytes)}};
    const auto tensors = read_safetensors(safetensors_bytes(header.dump(), 24));
    ASSERT_TRUE(tensors.ok()) << tensors.error().message;
    EXPECT_EQ(tensors->front().type, (ElementType{name, 1, bytes}));
  }
}

TEST(Safetensors, FilesWithoutTensorsAndTensorsWithoutElementsAreTaken) {
  EXPECT_TRUE(read_safetensors(safetensors_bytes("{}", 0)).value().empty());
  const Json header{{"x", entry("F32", {0, UINT64_MAX, UINT64_MAX}, 0, 0)}};
  const auto tensors = read_safetensors(safetensors_bytes(header.dump(), 0));
  ASSERT_TRUE(tensors.ok()) << tensors.error().message;
  EXPECT_EQ(tensors->front().bytes, 0U);
}

// Each lie alone, and what is said of it.
TEST(Safetensors, LiesAreNamed) {
  struct Lie {
    const char* why;
    std::function<void(Json&)> tell;
    Code code = Code::invalid_argument;
  };
  const Lie lies[] = {
      {"a: is not an object", [](Json& j) { j["a"] = 1; }},
      {"a: dtype is missing", [](Json& j) { j["a"].erase("dtype"); }},
      {"a: dtype is not a text", [](Json& j) { j["a"]["dtype"] = 1; }},
      {"a: is of dtype 'F?'", [](Json& j) { j["a"]["dtype"] = "F\n"; }, Code::unimplemented},
      {"a: shape is missing", [](Json& j) { j["a"].erase("shape"); }},
      {"a: shape is not a list of whole", [](Json& j) { j["a"]["shape"] = 6; }},
      {"a: shape is not a list of whole", [](Json& j) { j["a"]["shape"][0] = -6; }},
      {"a: shape is not a list of whole", [](Json& j) { j["a"]["shape"][0] = 6.0; }},
      {"a: shape is not a list of whole", [](Json& j) { j["a"]["shape"][0] = "6"; }},
      {"a: has more than 8 axes",
       [](Json& j) { j["a"]["shape"] = std::vector<std::uint64_t>(9, 1); }},
      {"a: its shape takes more bytes than any",
       [](Json& j) {
         j["a"]["shape"] = {UINT64_MAX, 2};
       }},
      {"a: data_offsets hold 24 bytes, its shape takes 28",
       [](Json& j) { j["a"]["shape"][0] = 7; }},
      {"a: data_offsets hold 24 bytes, its shape takes 12",
       [](Json& j) { j["a"]["dtype"] = "F16"; }},
      {"a: data_offsets hold 25 bytes", [](Json& j) { j["a"]["data_offsets"][1] = 73; }},
      {"a: data_offsets are no range", [](Json& j) { j["a"]["data_offsets"][1] = 47; }},
      {"a: data_offsets are no range", [](Json& j) { j["a"]["data_offsets"].push_back(80); }},
      {"a: data_offsets are no range",
       [](Json& j) {
         j["a"]["data_offsets"] = {UINT64_MAX - 24, UINT64_MAX};
       }},
      {"a: data_offsets is missing", [](Json& j) { j["a"].erase("data_offsets"); }},
      {"a: has more than dtype, shape and data_offsets", [](Json& j) { j["a"]["more"] = 1; }},
      {"a: has an object within", [](Json& j) { j["a"]["more"]["more"] = 1; }},
      {"a: has an array where none belongs",
       [](Json& j) { j["a"]["shape"][0] = std::vector<int>{1}; }},
      {"a: has an array where none belongs",
       [](Json& j) {
         j["a"] = {1, 2, 3};
       }},
      {"c: bytes ",
       [](Json& j) {
         j["c"]["data_offsets"] = {76, 80};
       }},
      {"a: has bytes of b",
       [](Json& j) {
         j["a"]["data_offsets"] = {47, 71};
       }},
      {"a tensor's name is empty", [](Json& j) { j[""] = j["c"]; }},
      {"the name ?[2J has characters", [](Json& j) { j["\x1b[2J"] = j["c"]; }},
      {"nnn... is longer than 512", [](Json& j) { j[std::string(513, 'n')] = j["c"]; }},
  };
  for (const Lie& lie : lies) {
    Json header = example_header();
    lie.tell(header);
    EXPECT_TRUE(refused(safetensors_bytes(header.dump(), 76), lie.code, lie.why)) << lie.why;
  }
}

TEST(Safetensors, TextThatIsNoHeaderIsNamed) {
  const std::string one = entry("U8", {1}, 0, 1).dump();
  const std::pair<std::string, const char*> texts[] = {
      {R"({"a":)" + one + R"(,"a":)" + one + "}", "a is there twice"},
      {R"({"a":{"dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1]}})",
       "a: dtype is there twice"},
      {R"({"a":)" + std::string(100'000, '['), "a: has an array where none belongs"},
      {"{", "not a JSON object"},
      {"{]", "not a JSON object"},
      {"{}{}", "not a JSON object"},
      {R"({"a":1e999})", "not a JSON object"},
      {"{\"\xff\":1}", "not a JSON object"}};
  for (const auto& [text, why] : texts) {
    EXPECT_TRUE(refused(safetensors_bytes(text, 1), Code::invalid_argument, why)) << why;
  }
}

TEST(Safetensors, AHeaderLargerThanTheFileOrTheLimitIsRefusedUnread) {
  for (const std::uint64_t length : {std::uint64_t{3}, std::uint64_t{100'000'001}, UINT64_MAX}) {
    BytesSource source(u64_bytes(length) + "{}");
    const auto tensors = read_tensor_list(source, 0);
    ASSERT_FALSE(tensors.ok());
    EXPECT_NE(tensors.error().message.find("does not fit into the file of 10"), std::string::npos)
        << tensors.error().message;
    EXPECT_LT(source.read_bytes(), 20U);
  }
}

TEST(Safetensors, AFileThatIsCutShortAnywhereIsRefused) {
  const std::string whole = safetensors_bytes(example_header().dump(), 76);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(read_safetensors(whole.substr(0, length)).ok()) << length;
  }
}

TEST(Safetensors, WhatTheSourceFailsWithIsReturned) {
  BytesSource source(safetensors_bytes(example_header().dump(), 76));
  for (const std::uint64_t offset : {0U, 9U}) {
    source.fail_behind(offset);
    EXPECT_EQ(read_tensor_list(source, 0).error().code, Code::unavailable);
  }
}

// Only its size is claimed: nothing of such a header is ever read.
TEST(Safetensors, AHeaderLongerThanTheFormatAllowsIsRefusedInHoweverLargeAFile) {
  class HugeFile : public ByteSource {
   public:
    [[nodiscard]] std::uint64_t bytes() const override { return std::uint64_t{1} << 40; }
    [[nodiscard]] Result<void> read(std::uint64_t offset, std::span<std::byte> to) override {
      const auto length = std::as_bytes(std::span(start_));
      if (offset + to.size() > largest) largest = offset + to.size();
      std::fill(to.begin(), to.end(), std::byte{' '});
      std::copy_n(length.begin(), std::min(length.size(), to.size()), to.begin());
      return {};
    }
    std::uint64_t largest = 0;

   private:
    const std::string start_ = u64_bytes(100'000'001) + "{";
  };
  HugeFile file;
  const auto tensors = read_tensor_list(file, 0);
  ASSERT_FALSE(tensors.ok());
  EXPECT_EQ(tensors.error().code, Code::invalid_argument) << tensors.error().message;
  EXPECT_LE(file.largest, std::uint64_t{1} << 20);
}

TEST(Safetensors, ATensorWithoutElementsMayBeAnywhere) {
  const auto with_empty_at = [](std::uint64_t offset) {
    const nlohmann::json header{
        {"full", {{"dtype", "U8"}, {"shape", {8}}, {"data_offsets", {0, 8}}}},
        {"empty", {{"dtype", "F32"}, {"shape", {0, 4}}, {"data_offsets", {offset, offset}}}}};
    return read_safetensors(safetensors_bytes(header.dump(), 8));
  };
  EXPECT_TRUE(with_empty_at(4).ok()) << "within another's bytes";
  EXPECT_TRUE(with_empty_at(800).ok()) << "behind the file's end";
}

}  // namespace
}  // namespace aqua::sharing
