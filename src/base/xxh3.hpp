// SPDX-License-Identifier: Apache-2.0
// XXH3 of 128 bits, the most significant byte first: against damage, not against anybody who wants
// to deceive.
//
// Threads: an object is for one at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace aqua {

using Xxh3Digest = std::array<std::uint8_t, 16>;

[[nodiscard]] Xxh3Digest xxh3_of(std::span<const std::byte> bytes);

// Hashes bytes that come in pieces.
class Xxh3 {
 public:
  Xxh3();
  ~Xxh3();
  Xxh3(const Xxh3&) = delete;
  Xxh3& operator=(const Xxh3&) = delete;
  void add(std::span<const std::byte> bytes);
  [[nodiscard]] Xxh3Digest value() const;  // of the bytes so far

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace aqua
