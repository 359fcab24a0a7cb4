// SPDX-License-Identifier: Apache-2.0
// NCCL's send and receive, the way between GPUs that engines know. Found when the program runs;
// neither its headers nor the library are needed to build.
//
// Threads: one.
// Owns:    the communicators. The library stays loaded.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "aqua/result.hpp"

namespace aqua::bench {

class Nccl {
 public:
  // `library`: a file, or a name for the loader. unavailable, with the loader's reason, where there
  // is none or it has no send and receive (before 2.7).
  [[nodiscard]] static Result<std::unique_ptr<Nccl>> load(const std::string& library);
  ~Nccl();
  Nccl(const Nccl&) = delete;
  Nccl& operator=(const Nccl&) = delete;

  [[nodiscard]] int version() const { return version_; }  // 22809 for 2.28.9
  // A communicator of these GPUs, each a rank, all of this process. Blocks. Once.
  [[nodiscard]] Result<void> join(std::span<const int> gpus);
  // Queues a message from the first rank, on a stream of its GPU, to the last, on one of that
  // one's; the same stream where there is one rank.
  [[nodiscard]] Result<void> send(const std::byte* from, std::byte* to, std::size_t bytes,
                                  void* sender, void* receiver);

 private:
  struct Functions;
  explicit Nccl(std::unique_ptr<Functions> functions);
  [[nodiscard]] Result<void> done(int result, const char* call) const;

  std::unique_ptr<Functions> functions_;
  int version_ = 0;
  std::vector<void*> ranks_;
};

}  // namespace aqua::bench
