// SPDX-License-Identifier: Apache-2.0
// The suites in which this process lends and others borrow.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/concat.hpp"
#include "tests/lending/peer_process.hpp"
#include "tests/lending/support.hpp"
#include "tests/lending/two_processes.hpp"

namespace aqua::lending {

class Borrowers : public TwoProcesses {
 protected:
  void begin() override {
    lender_.emplace(2, GetParam());
    peer_ = another();
  }
  [[nodiscard]] std::unique_ptr<Peer> another() const { return std::make_unique<Peer>(GetParam()); }
  [[nodiscard]] std::string index(std::size_t i) const {
    return std::to_string(lender_->offered(i).index);
  }
  [[nodiscard]] std::vector<std::byte> like(std::uint32_t seed) const {
    return bytes_like(seed, lender_->slab_bytes());
  }
  void expect_zero(std::size_t i) {
    EXPECT_TRUE(lender_->bytes_of(i) == zeroes(lender_->slab_bytes())) << i;
  }
  // The peer sees zeroes and writes what the seed gives.
  void borrow(Peer& peer, std::size_t i, int seed) {
    ASSERT_EQ(peer.ask(import_command(lender_->lease(i))), "ok");
    ASSERT_EQ(peer.ask("clean " + index(i)), "ok");
    ASSERT_EQ(peer.ask(concat("fill ", index(i), " ", seed)), "ok");
  }
  void expect_freed(std::size_t i, std::uint64_t generation) {
    const SlabStatus freed = lender_->freed().next();
    EXPECT_EQ(freed.index, lender_->offered(i).index);
    EXPECT_EQ(freed.generation, generation);
    EXPECT_NE(freed.secret, lender_->offered(i).secret);
  }
  void expect_freed_clean(std::size_t i, std::uint64_t generation) {
    expect_freed(i, generation);
    expect_zero(i);
  }
  // In other memory: this process has the dead one's mapped still, and it is as that left it.
  void expect_freed_anew(std::size_t i, std::uint64_t generation, std::uint32_t seed) {
    expect_freed(i, generation);
    EXPECT_TRUE(lender_->bytes_of(i) == like(seed)) << i;
  }

  std::optional<Lender> lender_;
  std::unique_ptr<Peer> peer_;
};

}  // namespace aqua::lending
