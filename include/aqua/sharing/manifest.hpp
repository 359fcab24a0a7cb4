// SPDX-License-Identifier: Apache-2.0
// Manifest tells what lies in the memory of a published model: which tensors, of what type and
// shape, and where. Processes that map the memory find their tensors by it.
//
// Units: bytes; shapes in elements. Axes: outermost first, as NumPy and PyTorch have them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aqua/export.h"
#include "aqua/result.hpp"

namespace aqua::sharing {

// How elements are stored: so many of them in a block of so many bytes.
struct ElementType {
  std::string name{};  // as in safetensors ("BF16") or ggml ("Q4_0")
  std::uint32_t elements = 1;
  std::uint32_t bytes = 0;
  friend bool operator==(const ElementType&, const ElementType&) = default;
};

// XXH3, 128 bits, the most significant byte first.
struct Digest {
  std::array<std::uint8_t, 16> bytes{};
  friend bool operator==(const Digest&, const Digest&) = default;
};

struct TensorInfo {
  std::string name{};
  std::uint32_t type = 0;                // in Manifest::types
  std::vector<std::uint64_t> shape{};    // none: a single element
  std::vector<std::uint64_t> strides{};  // for each axis; of the last one, from block to block
  std::uint64_t offset = 0;              // of its first byte, in the slabs one after another
  // In Manifest::tensors: it has no bytes of its own, but lies within those of that one.
  std::optional<std::uint32_t> view_of{};
  Digest digest{};  // of its bytes, from the first to the last; of a view nothing
  friend bool operator==(const TensorInfo&, const TensorInfo&) = default;
};

struct Manifest {
  std::string model{};
  // Chosen by who publishes: shards of one version belong together.
  std::string version{};
  std::uint32_t shard = 0, shards = 1;
  std::vector<std::uint64_t> slabs{};  // bytes of each
  std::vector<ElementType> types{};
  std::vector<TensorInfo> tensors{};
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// Bytes of all slabs of a manifest that has been checked.
[[nodiscard]] AQUA_API std::uint64_t slab_bytes(const Manifest& manifest);
// Bytes from the first to behind the last of a tensor of a manifest that has been checked.
[[nodiscard]] AQUA_API std::uint64_t tensor_bytes(const Manifest& manifest,
                                                  const TensorInfo& tensor);
// Strides of a tensor without gaps.
[[nodiscard]] AQUA_API std::vector<std::uint64_t> dense_strides(
    const ElementType& type, const std::vector<std::uint64_t>& shape);

// invalid_argument names the tensor and what is wrong with it: a name that is empty, doubled,
// longer than 512 bytes or not of printable ASCII, a type that is not there, a shape that does not
// fill whole blocks, bytes outside the slabs, not aligned to the type or of another tensor, a view
// of a view or beyond what it is a view of.
[[nodiscard]] AQUA_API Result<void> check(const Manifest& manifest);

// Places tensors one after another in slabs of `slab_bytes`, the last one only as large as it has
// to be, in multiples of 2 MiB: sets slabs, offsets and dense strides. Each tensor begins at a
// multiple of 256 bytes and may go on in the next slab. The offset of a view counts from the first
// byte of its tensor until then, and it keeps strides that are given. Errors: check()'s, and
// invalid_argument for slabs of no bytes; nothing is changed then.
[[nodiscard]] AQUA_API Result<void> lay_out(Manifest& manifest,
                                            std::uint64_t slab_bytes = std::uint64_t{256} << 20);

// JSON. What parse_manifest() returns has been checked; to_json() wants one that has.
[[nodiscard]] AQUA_API std::string to_json(const Manifest& manifest);
[[nodiscard]] AQUA_API Result<Manifest> parse_manifest(std::string_view json);

}  // namespace aqua::sharing
