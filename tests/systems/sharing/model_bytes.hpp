// SPDX-License-Identifier: Apache-2.0
// Files of model weights as tests make them, byte by byte: true ones, and ones that lie.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "systems/sharing/decide/model_file.hpp"

namespace aqua::sharing {

// A file in memory. It counts what is read of it, and can fail.
class BytesSource : public ByteSource {
 public:
  explicit BytesSource(std::string bytes) : bytes_(std::move(bytes)) {}

  [[nodiscard]] std::uint64_t bytes() const override { return bytes_.size(); }
  [[nodiscard]] Result<void> read(std::uint64_t offset, std::span<std::byte> to) override {
    if (offset > bytes_.size() || to.size() > bytes_.size() - offset) {
      return Error{Code::internal, "a read outside the file"};
    }
    if (offset + to.size() > fails_behind_) return Error{Code::unavailable, "the disk is away"};
    const auto all = std::as_bytes(std::span(bytes_));
    std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(offset), to.size(), to.begin());
    read_ += to.size();
    largest_ = std::max(largest_, to.size());
    return {};
  }

  void fail_behind(std::uint64_t offset) { fails_behind_ = offset; }
  [[nodiscard]] std::uint64_t read_bytes() const { return read_; }  // in all
  [[nodiscard]] std::size_t largest_read() const { return largest_; }

 private:
  std::string bytes_;
  std::uint64_t fails_behind_ = ~std::uint64_t{0};
  std::uint64_t read_ = 0;
  std::size_t largest_ = 0;
};

// Whether the list of tensors is refused with this code, and these words.
inline ::testing::AssertionResult refused(const std::string& bytes, Code code,
                                          const std::string& why) {
  BytesSource source(bytes);
  const auto tensors = read_tensor_list(source, 0);
  if (tensors.ok()) return ::testing::AssertionFailure() << "taken";
  if (tensors.error().code == code && tensors.error().message.find(why) != std::string::npos)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << to_string(tensors.error().code) << ": " << tensors.error().message;
}

inline std::string u32_bytes(std::uint32_t number) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(number >> shift);
  return bytes;
}
inline std::string u64_bytes(std::uint64_t number) {
  return u32_bytes(static_cast<std::uint32_t>(number)) +
         u32_bytes(static_cast<std::uint32_t>(number >> 32));
}
inline std::string text_bytes(const std::string& text) {
  return u64_bytes(text.size()) + text;
}

struct GgufTensor {
  std::string name{};
  std::vector<std::uint64_t> axes{};  // the innermost first
  std::uint32_t type = 0;
  std::uint64_t offset = 0;
};

// Everything in a GGUF file that can be true or a lie.
struct GgufFile {
  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::vector<std::string> entries{};  // of metadata: entry()
  std::vector<GgufTensor> tensors{};
  std::uint64_t entry_count = 0, tensor_count = 0;  // besides those that are there
  std::uint32_t alignment = 32;                     // to which the header is padded
  std::uint64_t data_bytes = 0;

  [[nodiscard]] std::string header() const {
    std::string bytes = magic + u32_bytes(version) + u64_bytes(tensors.size() + tensor_count) +
                        u64_bytes(entries.size() + entry_count);
    for (const std::string& entry : entries) bytes += entry;
    for (const GgufTensor& tensor : tensors) {
      bytes += text_bytes(tensor.name) + u32_bytes(static_cast<std::uint32_t>(tensor.axes.size()));
      for (const std::uint64_t axis : tensor.axes) bytes += u64_bytes(axis);
      bytes += u32_bytes(tensor.type) + u64_bytes(tensor.offset);
    }
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment, '\0');
    return bytes;
  }
  [[nodiscard]] std::string bytes() const { return header() + std::string(data_bytes, 'd'); }

  static std::string entry(const std::string& key, std::uint32_t type, const std::string& value) {
    return text_bytes(key) + u32_bytes(type) + value;
  }
};

// A safetensors file whose header is this text.
inline std::string safetensors_bytes(const std::string& header, std::uint64_t data_bytes) {
  return u64_bytes(header.size()) + header + std::string(data_bytes, 'd');
}

}  // namespace aqua::sharing
