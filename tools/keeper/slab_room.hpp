// SPDX-License-Identifier: Apache-2.0
// SlabRoom counts the slabs that the keeper has descriptors for, over all that it keeps, and closes
// those that it no longer wants: on threads of their own, several at a time, since the kernel frees
// their pages meanwhile and the keeper's clients are not to wait for that.
//
// A slab counts until it has been closed. So nothing is ever taken for free that the kernel has not
// freed, as far as this process has it: others may have it mapped.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "aqua/result.hpp"
#include "base/memory/page_reaper.hpp"
#include "base/mutex.hpp"
#include "base/unique_fd.hpp"
#include "tools/keeper/kept_slab.hpp"

namespace aqua::keeper {

class SlabRoom {
 public:
  // Throws std::system_error when no thread or no descriptor can be had.
  explicit SlabRoom(std::size_t most);

  // resource_exhausted: more than there is room for.
  [[nodiscard]] Result<void> take(std::size_t slabs);
  // Slabs that were taken are closed, or were never there.
  void give(std::size_t slabs);
  using Closed = PageReaper::Closed;
  // Closes slabs that were taken, and gives them; returns before that is done.
  void close(std::vector<KeptSlab> slabs);
  // One that was taken, closed when its last holder lets go of it, whichever thread that is on.
  // `closed` is called then. The room outlives all holders.
  [[nodiscard]] std::shared_ptr<const KeptSlab> share(KeptSlab slab, Closed closed);

  [[nodiscard]] std::size_t most() const { return most_; }
  // Bytes of slabs that close() has not closed yet.
  [[nodiscard]] std::uint64_t bytes_being_freed() const;
  // An eventfd, signalled when close() has closed a slab. Whoever polls it clears it.
  [[nodiscard]] int freed_event() const { return freed_.get(); }

 private:
  void close(KeptSlab slab, Closed then);
  void closed(std::uint64_t bytes);

  const std::size_t most_;
  const UniqueFd freed_;
  mutable Mutex mu_;
  std::size_t taken_ AQUA_GUARDED_BY(mu_) = 0;
  std::size_t being_freed_ AQUA_GUARDED_BY(mu_) = 0;  // of those
  std::uint64_t bytes_being_freed_ AQUA_GUARDED_BY(mu_) = 0;
  PageReaper reaper_;  // its threads end first
};

}  // namespace aqua::keeper
