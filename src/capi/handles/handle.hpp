// SPDX-License-Identifier: Apache-2.0
// What the 64 bits of a handle say: kind (8) | index of its slot (24) | generation (32). Zero is
// no handle. And the errors for handles that are of no use.
#pragma once

#include <cstddef>
#include <cstdint>

#include "aqua/result.hpp"
#include "capi/handles/handle_word.hpp"

namespace aqua::capi {

enum class Kind : std::uint8_t {
  runtime = 1,
  tensor,
  pin,
  layout,
  ticket,
  reclaim,
  pool,
  memory,
  layer_pool,  // of the system layer_swap, as the next
  block_pool,
  packer,   // of the system packing
  weights,  // of the system sharing, as the next
  weights_publisher,
  kv_pool,
  streamer,  // of the system kv_stream, as all that follow
  stream_out,
  stream_in,
  replicator,
  replica_reader,
  microbatch_swap,
};
inline constexpr std::size_t kKinds = static_cast<std::size_t>(Kind::microbatch_swap) + 1;

[[nodiscard]] const char* name_of(Kind kind) noexcept;

struct Handle {
  std::uint64_t id = 0;
  [[nodiscard]] static constexpr Handle make(Kind kind, std::uint32_t index,
                                             std::uint32_t generation) noexcept {
    return {std::uint64_t{static_cast<std::uint8_t>(kind)} << 56 | std::uint64_t{index} << 32 |
            generation};
  }
  [[nodiscard]] constexpr Kind kind() const noexcept { return static_cast<Kind>(id >> 56); }
  [[nodiscard]] constexpr std::uint32_t index() const noexcept {
    return static_cast<std::uint32_t>(id >> 32) & 0xff'ffff;
  }
  [[nodiscard]] constexpr std::uint32_t generation() const noexcept {
    return static_cast<std::uint32_t>(id);
  }
};

// invalid_argument for zero or another kind; not_found for one that is freed or never was.
[[nodiscard]] Error bad_handle(const char* what, Kind wanted, std::uint64_t id);
[[nodiscard]] Error bad_take(const char* what, Kind wanted, std::uint64_t id,
                             HandleWord::Take outcome);
[[nodiscard]] Error parents_handle(const char* what, Kind wanted);
[[nodiscard]] Error too_many_handles(Kind kind, std::uint32_t most);

}  // namespace aqua::capi
