// SPDX-License-Identifier: Apache-2.0
// FileTensor is a tensor in a file of model weights. read_tensor_list() reads the header of such a
// file, in GGUF or safetensors, and returns its tensors; the weights themselves are not read.
//
// Threads: none of its own. Pure: the caller reads the file, behind ByteSource.
// Units:   bytes; shapes in elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "aqua/result.hpp"
#include "aqua/sharing/manifest.hpp"

namespace aqua::sharing {

// A tensor without gaps between its elements.
struct FileTensor {
  std::string name{};
  ElementType type{};
  std::vector<std::uint64_t> shape{};  // the outermost axis first; none: a single element
  std::uint64_t offset = 0;            // of its first byte, in its file
  std::uint64_t bytes = 0;
  std::uint32_t file = 0;  // which of the caller's files
  friend bool operator==(const FileTensor&, const FileTensor&) = default;
};

// A file. Its bytes do not change while it is read.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  [[nodiscard]] virtual std::uint64_t bytes() const = 0;
  // Fills all of `to`, or fails. Only ranges within bytes() are asked for.
  [[nodiscard]] virtual Result<void> read(std::uint64_t offset, std::span<std::byte> to) = 0;
};

// The tensors of a file, in the order of their bytes; `file` is stored in each of them. Every name
// is of printable ASCII and there once; the bytes lie within the file and do not overlap. Takes
// memory in proportion to the file's header, whatever the header claims.
//   invalid_argument   the file has neither format, is cut short, or contradicts itself; the
//                      message names the tensor
//   unimplemented      a version, a byte order or an element type that is not known here
// An error of the source is returned as it is.
[[nodiscard]] Result<std::vector<FileTensor>> read_tensor_list(ByteSource& source,
                                                               std::uint32_t file);

}  // namespace aqua::sharing
