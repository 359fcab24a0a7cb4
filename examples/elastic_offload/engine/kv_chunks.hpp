// SPDX-License-Identifier: Apache-2.0
// KvChunks: a producer engine's own KV memory, in chunks that it takes from its emulated GPU
// and frees again. A chunk's bytes are stamped when it is taken and never change, so that
// each check of them shows whether lending disturbs what was not lent. Memory that comes home
// from a loan must be all zero: a tenant never reads another's bytes.
//
// Threads: the engine's; methods wait for their kernels.
// Owns:    the chunks and a stream. The runtime outlives it.
#pragma once

#include <cstdint>
#include <deque>

#include "aqua/emulated.hpp"

namespace aqua::example {

class KvChunks {
 public:
  KvChunks(Runtime& runtime, std::size_t chunk_bytes, std::uint64_t tenant);
  ~KvChunks();
  KvChunks(const KvChunks&) = delete;
  KvChunks& operator=(const KvChunks&) = delete;

  // Takes one more chunk if that keeps bytes() within `limit` and the device has it.
  bool take(std::size_t limit);
  // Frees chunks, newest first, until bytes() is within `limit`; checks each before.
  // Returns the bytes freed.
  std::size_t free_down_to(std::size_t limit);
  // Checks the chunk whose turn it is.
  void check_next();
  void check_all();

  [[nodiscard]] std::size_t bytes() const { return chunks_.size() * chunk_bytes_; }
  [[nodiscard]] std::uint64_t verified_bytes() const { return verified_; }
  [[nodiscard]] std::uint64_t mismatched_bytes() const { return mismatched_; }

 private:
  struct Chunk {
    emulated::Memory memory;
    std::uint64_t name = 0;
  };
  void check(const Chunk& chunk);
  void run(std::function<void()> kernel);

  Runtime& runtime_;
  const std::size_t chunk_bytes_;
  Stream stream_;
  std::uint64_t next_name_;
  std::deque<Chunk> chunks_;
  std::size_t turn_ = 0;
  std::uint64_t verified_ = 0, mismatched_ = 0;
};

}  // namespace aqua::example
