// SPDX-License-Identifier: Apache-2.0
// The words that every public header shares.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace aqua {

// A stream of the device that the runtime was opened on: work on one stream runs in
// order, work on two streams in any order. Borrowed: the engine keeps it alive until
// the work it named it for has completed.
//   CUDA: native is the cudaStream_t, other than cudaStreamPerThread (it is another stream on
//   every thread, and is refused).  Emulated: from emulated::create_stream().
// The value 0 is the device's default stream.
struct Stream {
  std::uintptr_t native = 0;
  friend auto operator<=>(const Stream&, const Stream&) = default;
};

// Where a tensor's bytes are now, fastest first.
enum class Tier : std::uint8_t {
  local,  // this device's own memory
  peer,   // memory that a neighbouring device's owner has lent
  host,   // this server's DRAM
};

[[nodiscard]] constexpr std::string_view to_string(Tier tier) noexcept {
  switch (tier) {
    case Tier::local:
      return "local";
    case Tier::peer:
      return "peer";
    case Tier::host:
      return "host";
  }
  return "host";
}

namespace literals {
constexpr std::size_t operator""_KiB(unsigned long long n) {
  return std::size_t{n} << 10;
}
constexpr std::size_t operator""_MiB(unsigned long long n) {
  return std::size_t{n} << 20;
}
constexpr std::size_t operator""_GiB(unsigned long long n) {
  return std::size_t{n} << 30;
}
}  // namespace literals

}  // namespace aqua
