// SPDX-License-Identifier: Apache-2.0
// The streams of one memfd device by handle. Handles are never used twice in a process, so
// that a stale one is refused. Safe from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "aqua/result.hpp"
#include "aqua/types.hpp"
#include "base/mutex.hpp"
#include "device/memfd/stream_worker.hpp"

namespace aqua::device {

class StreamTable {
 public:
  // Has Stream{0} from the start. With a seed every stream delays its work (StreamWorker).
  explicit StreamTable(std::optional<std::uint64_t> hostile_seed);

  [[nodiscard]] Result<Stream> create();
  // Waits for the stream's work.
  [[nodiscard]] Result<void> destroy(Stream stream);
  // invalid_argument when there is no such stream.
  [[nodiscard]] Result<std::shared_ptr<StreamWorker>> find(const char* what, Stream stream) const;

 private:
  std::shared_ptr<StreamWorker> start() AQUA_REQUIRES(mu_);

  const std::optional<std::uint64_t> hostile_seed_;
  mutable Mutex mu_;
  std::uint64_t started_ AQUA_GUARDED_BY(mu_) = 0;
  std::map<std::uintptr_t, std::shared_ptr<StreamWorker>> workers_ AQUA_GUARDED_BY(mu_);
};

}  // namespace aqua::device
