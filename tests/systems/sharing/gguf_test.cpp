// SPDX-License-Identifier: Apache-2.0
#include "systems/sharing/decide/gguf.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

#include "systems/sharing/decide/ggml_types.hpp"
#include "systems/sharing/decide/piece_reader.hpp"
#include "tests/systems/sharing/model_bytes.hpp"

namespace aqua::sharing {
namespace {

constexpr std::uint32_t kGgufF16 = 1, kGgufQ4_0 = 2, kGgufF32 = 0;
constexpr std::uint32_t kUint32 = 4, kFloat = 6, kText = 8, kArray = 9, kUint64 = 10;

// Three tensors, not in the order of their bytes, behind metadata of every form.
GgufFile example_file() {
  GgufFile file;
  file.entries = {
      GgufFile::entry("general.name", kText, text_bytes("smol")),
      GgufFile::entry("a.count", kUint64, u64_bytes(7)),
      GgufFile::entry("a.scale", kFloat, u32_bytes(0)),
      GgufFile::entry("a.ids", kArray, u32_bytes(kUint32) + u64_bytes(2) + u64_bytes(1)),
      GgufFile::entry("a.tokens", kArray,
                      u32_bytes(kText) + u64_bytes(2) + text_bytes("") + text_bytes("ab"))};
  file.tensors = {{"norm", {8}, kGgufF32, 192},
                  {"ffn", {64, 4}, kGgufQ4_0, 0},  // 8 blocks of 18 bytes
                  {"attn", {4, 3, 2}, kGgufF16, 256}};
  file.data_bytes = 256 + 48;
  return file;
}

Result<std::vector<FileTensor>> read_gguf(const std::string& bytes) {
  BytesSource source(bytes);
  return read_tensor_list(source, 5);
}

TEST(Gguf, TensorsComeInTheOrderOfTheirBytesWithTheOutermostAxisFirst) {
  const GgufFile file = example_file();
  const std::uint64_t data = file.header().size();
  for (const std::uint32_t version : {2U, 3U}) {
    GgufFile same = file;
    same.version = version;
    const auto tensors = read_gguf(same.bytes());
    ASSERT_TRUE(tensors.ok()) << tensors.error().message;
    const ElementType q4{.name = "Q4_0", .elements = 32, .bytes = 18};
    const std::vector<FileTensor> expected = {
        {"ffn", q4, {4, 64}, data, 144, 5},
        {"norm", {"F32", 1, 4}, {8}, data + 192, 32, 5},
        {"attn", {"F16", 1, 2}, {2, 3, 4}, data + 256, 48, 5}};
    EXPECT_EQ(*tensors, expected);
  }
}

TEST(Gguf, TheFilesOwnAlignmentCounts) {
  GgufFile file = example_file();
  file.alignment = 128;
  file.entries.push_back(GgufFile::entry("general.alignment", kUint32, u32_bytes(128)));
  file.tensors[0].offset = 384;
  file.data_bytes = 512;
  const auto tensors = read_gguf(file.bytes());
  ASSERT_TRUE(tensors.ok()) << tensors.error().message;
  EXPECT_EQ(tensors->front().offset, file.header().size());
  EXPECT_EQ(tensors->front().offset % 128, 0U);
  file.tensors[0].offset = 192;
  EXPECT_TRUE(
      refused(file.bytes(), Code::invalid_argument, "norm: its offset 192 is no multiple of"));
}

TEST(Gguf, FilesWithoutTensorsAndTensorsWithoutElementsAreTaken) {
  EXPECT_TRUE(read_gguf(GgufFile{}.bytes()).value().empty());
  GgufFile file;
  file.tensors = {{"none", {0, 7}, kGgufF16, 0}, {"one", {}, kGgufF16, 0}};
  file.data_bytes = 2;
  const auto tensors = read_gguf(file.bytes());
  ASSERT_TRUE(tensors.ok()) << tensors.error().message;
  EXPECT_EQ((*tensors)[0].bytes, 0U);
  EXPECT_EQ((*tensors)[0].shape, (std::vector<std::uint64_t>{7, 0}));
  EXPECT_EQ((*tensors)[1].bytes, 2U) << "a single element";
}

TEST(Gguf, TypesHaveTheBlocksThatGgmlGivesThem) {
  struct Block {
    std::uint32_t number;
    const char* name;
    std::uint32_t elements, bytes;
  };
  // From the parts that a block of each has: scales of two bytes, and its quantised elements.
  const Block blocks[] = {{2, "Q4_0", 32, 2 + 32 / 2},
                          {3, "Q4_1", 32, 2 + 2 + 32 / 2},
                          {6, "Q5_0", 32, 2 + 32 / 2 + 32 / 8},
                          {7, "Q5_1", 32, 2 + 2 + 32 / 2 + 32 / 8},
                          {8, "Q8_0", 32, 2 + 32},
                          {9, "Q8_1", 32, 2 + 2 + 32},
                          {10, "Q2_K", 256, 2 + 2 + 256 / 16 + 256 / 4},
                          {11, "Q3_K", 256, 2 + 256 / 8 + 256 / 4 + 12},
                          {12, "Q4_K", 256, 2 + 2 + 12 + 256 / 2},
                          {13, "Q5_K", 256, 2 + 2 + 12 + 256 / 8 + 256 / 2},
                          {14, "Q6_K", 256, 2 + 256 / 16 + 256 / 4 + 256 / 2},
                          {15, "Q8_K", 256, 4 + 256 + 2 * 256 / 16},
                          {16, "IQ2_XXS", 256, 2 + 256 / 4},
                          {17, "IQ2_XS", 256, 2 + 256 / 4 + 256 / 32},
                          {18, "IQ3_XXS", 256, 2 + 256 / 4 + 256 / 8},
                          {19, "IQ1_S", 256, 2 + 256 / 8 + 256 / 16},
                          {20, "IQ4_NL", 32, 2 + 32 / 2},
                          {21, "IQ3_S", 256, 2 + 256 / 4 + 256 / 32 + 256 / 8 + 256 / 64},
                          {22, "IQ2_S", 256, 2 + 256 / 4 + 256 / 32 + 256 / 32},
                          {23, "IQ4_XS", 256, 2 + 2 + 256 / 64 + 256 / 2},
                          {29, "IQ1_M", 256, 256 / 8 + 256 / 16 + 256 / 32},
                          {30, "BF16", 1, 2},
                          {34, "TQ1_0", 256, 2 + 48 + 256 / 64},
                          {35, "TQ2_0", 256, 2 + 256 / 4},
                          {39, "MXFP4", 32, 1 + 32 / 2}};
  for (const Block& block : blocks) {
    const auto type = ggml_type(block.number);
    ASSERT_TRUE(type.has_value()) << block.name;
    EXPECT_EQ(*type, (ElementType{block.name, block.elements, block.bytes}));
  }
  for (const std::uint32_t gone : {4U, 5U, 31U, 33U, 36U, 38U, 1000U}) {
    EXPECT_FALSE(ggml_type(gone).has_value()) << gone;
  }
}

// Each lie alone, and what is said of it.
TEST(Gguf, LiesAreNamed) {
  struct Lie {
    const char* why;
    std::function<void(GgufFile&)> tell;
    Code code = Code::invalid_argument;
  };
  const auto add = [](const std::string& entry) {
    return [entry](GgufFile& file) { file.entries.push_back(entry); };
  };
  const auto array = [&](std::uint32_t type, std::uint64_t count) {
    return add(GgufFile::entry("k", kArray, u32_bytes(type) + u64_bytes(count)));
  };
  const std::string two_alignments = GgufFile::entry("general.alignment", kUint32, u32_bytes(32)) +
                                     GgufFile::entry("general.alignment", kUint32, u32_bytes(64));
  const Lie lies[] = {
      {"neither GGUF nor safetensors", [](auto& f) { f.magic = "GGML"; }},
      {"of version 1;", [](auto& f) { f.version = 1; }, Code::unimplemented},
      {"of version 4;", [](auto& f) { f.version = 4; }, Code::unimplemented},
      {"of version 0;", [](auto& f) { f.version = 0; }, Code::unimplemented},
      {"big endian", [](auto& f) { f.version = 3U << 24; }, Code::unimplemented},
      {"entries of metadata do not fit", [](auto& f) { f.entry_count = UINT64_MAX - 5; }},
      {"tensors do not fit", [](auto& f) { f.tensor_count = UINT64_MAX - 3; }},
      {"tensors do not fit", [](auto& f) { f.tensor_count = 100; }},
      {"metadata of the unknown type 13", add(GgufFile::entry("k", 13, ""))},
      {"metadata of the unknown type 13", array(13, 0)},
      {"nested arrays", array(kArray, 1), Code::unimplemented},
      {"values does not fit", array(kUint64, UINT64_MAX)},
      {"values does not fit", array(kText, UINT64_MAX)},
      {"values does not fit", array(0, 10'000)},
      {"bytes expected", array(kText, 20)},
      {"18446744073709551615 bytes expected", add(u64_bytes(UINT64_MAX))},
      {"18446744073709551615 bytes expected",
       add(GgufFile::entry("k", kText, u64_bytes(UINT64_MAX)))},
      {"is of type 10, not a uint32", add(GgufFile::entry("general.alignment", kUint64, ""))},
      {"is 48, which is no power", add(GgufFile::entry("general.alignment", 4, u32_bytes(48)))},
      {"is 0, which is no power", add(GgufFile::entry("general.alignment", 4, u32_bytes(0)))},
      {"general.alignment is there twice",
       [&](auto& f) { f.entries.push_back(two_alignments), f.entry_count = 1; }},
      {"a tensor's name is empty", [](auto& f) { f.tensors[1].name = ""; }},
      {"the name f?[2J has characters", [](auto& f) { f.tensors[1].name = "f\x1b[2J"; }},
      {"of 513 bytes, longer than 512", [](auto& f) { f.tensors[1].name.assign(513, 'n'); }},
      {"norm is there twice", [](auto& f) { f.tensors[1].name = "norm"; }},
      {"ffn: has 5 axes", [](auto& f) { f.tensors[1].axes.assign(5, 32); }},
      {"ffn: is of ggml type 4,", [](auto& f) { f.tensors[1].type = 4; }, Code::unimplemented},
      {"ffn: is of ggml type 99,", [](auto& f) { f.tensors[1].type = 99; }, Code::unimplemented},
      {"ffn: its shape does not fill whole blocks of Q4_0",
       [](auto& f) { f.tensors[1].axes[0] = 48; }},
      {"ffn: its shape does not fill", [](auto& f) { f.tensors[1].axes.clear(); }},
      {"ffn: its shape takes more bytes than any",
       [](auto& f) {
         f.tensors[1].axes = {1ULL << 40, 1ULL << 40};
       }},
      {"ffn: its offset 8 is no multiple of the alignment 32",
       [](auto& f) { f.tensors[1].offset = 8; }},
      {"ffn: its offset is beyond any file",
       [](auto& f) { f.tensors[1].offset = UINT64_MAX - 31; }},
      {"attn: bytes ", [](auto& f) { f.data_bytes -= 1; }},
      {"attn: bytes ", [](auto& f) { f.tensors[2].offset = 1ULL << 40; }},
      {"norm: has bytes of ffn", [](auto& f) { f.tensors[0].offset = 128; }},
  };
  for (const Lie& lie : lies) {
    GgufFile file = example_file();
    lie.tell(file);
    EXPECT_TRUE(refused(file.bytes(), lie.code, lie.why)) << lie.why;
  }
}

TEST(Gguf, AFileThatIsCutShortAnywhereIsRefused) {
  const std::string whole = example_file().bytes();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(read_gguf(whole.substr(0, length)).ok()) << length;
  }
}

TEST(Gguf, NeitherMetadataNorWeightsAreReadWhole) {
  GgufFile file = example_file();
  file.entries.push_back(
      GgufFile::entry("big", kText, text_bytes(std::string(std::size_t{4} << 20, 't'))));
  file.tensors.push_back({"big", {std::uint64_t{4} << 20}, 24, 320});
  file.data_bytes = 320 + (std::uint64_t{4} << 20);
  BytesSource source(file.bytes());
  ASSERT_EQ(read_tensor_list(source, 0)->size(), 4U);
  EXPECT_EQ(source.largest_read(), PieceReader::kPieceBytes);
  EXPECT_LT(source.read_bytes(), 3 * PieceReader::kPieceBytes) << "what is skipped is not read";
}

TEST(Gguf, NumbersThatLieAcrossTwoPiecesAreReadWhole) {
  for (std::size_t more = 0; more < 200; ++more) {
    GgufFile file = example_file();
    const std::size_t length = PieceReader::kPieceBytes - 200 + more;
    // Read, not skipped: texts of no bytes, and one that shifts what follows.
    std::string texts = u32_bytes(kText) + u64_bytes(length / 8);
    for (std::size_t i = 0; i + 1 < length / 8; ++i) texts += u64_bytes(0);
    texts += text_bytes(std::string(length % 8, 't'));
    file.entries.insert(file.entries.begin(), GgufFile::entry("k", kArray, texts));
    const auto tensors = read_gguf(file.bytes());
    ASSERT_TRUE(tensors.ok()) << tensors.error().message;
    EXPECT_EQ(tensors->front().offset, file.header().size());
  }
}

TEST(Gguf, WhatTheSourceFailsWithIsReturned) {
  BytesSource source(example_file().bytes());
  for (const std::uint64_t offset : {0U, 8U, 64U}) {
    source.fail_behind(offset);
    EXPECT_EQ(read_tensor_list(source, 0).error().code, Code::unavailable);
  }
}

}  // namespace
}  // namespace aqua::sharing
