// SPDX-License-Identifier: Apache-2.0
// A borrower of lent memory and its lender, in this process or one of its own that can be killed,
// for tests of what keeps bytes there.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <optional>
#include <string>

#include "tests/base/spawned_peer.hpp"
#include "tests/runtime/runtime_fixture.hpp"

namespace aqua::test {

class LentMemoryFixture : public RuntimeFixture {
 protected:
  explicit LentMemoryFixture(std::size_t lent) : lent_(lent) {}

  void open_borrower() {
    borrower_ = open({.device = "emu:1",
                      .name = "borrower",
                      .host_bytes = 64 << 20,
                      .max_peer_bytes = lent_,
                      .emulated = {.total_bytes = 64 << 20}});
  }
  void open_lender() {
    lender_ = open({.device = "emu:0", .name = "lender"});
    ASSERT_TRUE(lender_->lend(lent_).ok());
  }
  // `program` is layer_pool_lender. It has lent when this returns.
  void spawn_lender(const char* program) {
    auto peer = SpawnedPeer::spawn(
        {program, "unix:" + directory_ + "/coordinator.sock", directory_, std::to_string(lent_)});
    ASSERT_TRUE(peer.ok()) << peer.error().message;
    lender_process_.emplace(std::move(*peer));
    char byte = 0;
    ASSERT_EQ(::read(lender_process_->socket(), &byte, 1), 1);
  }
  void await_lent() {
    await([&] { return borrower_->status().peer.capacity_bytes == lent_; });
  }

  const std::size_t lent_;
  std::optional<Runtime> lender_, borrower_;
  std::optional<SpawnedPeer> lender_process_;
};

}  // namespace aqua::test
