// SPDX-License-Identifier: Apache-2.0
// Another stream of the device that copies from host memory without a pause, so that the link is
// shared with it. Copies take turns: with pieces as long as the engine's own it takes half.
//
// Threads: one; the copies are posted by a thread of its own. Must be gone before the runtime.
#pragma once

#include <thread>

#include "aqua/emulated.hpp"
#include "aqua/layout.hpp"
#include "aqua/runtime.hpp"

namespace aqua::bench {

class LinkLoad {
 public:
  LinkLoad(Runtime& runtime, std::size_t most_piece_bytes);
  ~LinkLoad();
  LinkLoad(const LinkLoad&) = delete;
  LinkLoad& operator=(const LinkLoad&) = delete;

  void start(std::size_t piece_bytes);  // not more than at most
  void stop();                          // waits for the last copy

 private:
  Runtime& runtime_;
  const Stream stream_;
  emulated::Memory memory_;
  AquaTensor source_;
  std::jthread thread_;
};

}  // namespace aqua::bench
