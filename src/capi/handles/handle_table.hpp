// SPDX-License-Identifier: Apache-2.0
// HandleTable holds the objects of one kind and finds them by handle. A handle that has no
// object any more is an error, never a wrong object, whatever other threads do meanwhile.
//
// Threads: every method may be called concurrently. Finding takes one compare-and-swap,
//          letting go one subtraction.
// Owns:    the objects. Slots lie in chunks that stay for the life of the process; a table is
//          never destroyed, so that calls made while the process exits find it.
// Fork:    objects of the parent are refused in a child and never destroyed there.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "base/fork_guard.hpp"
#include "capi/handles/free_list.hpp"
#include "capi/handles/handle.hpp"

namespace aqua::capi {

// `kMostChunks`: keeps of all kinds that keep a runtime open must fit into a HandleWord.
template <typename T, Kind kKind, std::uint32_t kMostChunks = 1000>
class HandleTable {
  struct Slot {
    HandleWord word;
    std::atomic<std::uint64_t> born{0};   // fork_generation() of the process it was made in
    std::atomic<std::uint64_t> owner{0};  // the runtime's handle, or 0
    std::atomic<std::uint32_t> next{0};   // in the free list
    std::uint32_t index = 0;
    alignas(T) std::array<std::byte, sizeof(T)> place;
    [[nodiscard]] T* object() noexcept { return std::launder(reinterpret_cast<T*>(&place)); }
  };

 public:
  static constexpr std::uint32_t kChunkSlots = 256;
  static constexpr std::uint32_t kChunks = kMostChunks;
  static constexpr std::uint32_t kMost = kChunkSlots * kChunks;

  // A claim on an object: for a call (kCall) or for the life of another object (kKeep).
  // Move-only; must not be empty when it is followed.
  template <std::uint64_t kUnit>
  class Claim {
   public:
    Claim(HandleTable* table, Slot* slot) noexcept : table_(table), slot_(slot) {}
    Claim(Claim&& other) noexcept
        : table_(other.table_), slot_(std::exchange(other.slot_, nullptr)) {}
    Claim& operator=(Claim&&) = delete;
    ~Claim() {
      if (slot_ != nullptr && slot_->word.drop(kUnit)) table_->destroy(*slot_);
    }
    [[nodiscard]] T* operator->() const noexcept { return slot_->object(); }
    [[nodiscard]] T& operator*() const noexcept { return *slot_->object(); }
    [[nodiscard]] std::uint64_t id() const noexcept {
      return Handle::make(kKind, slot_->index, slot_->word.generation()).id;
    }
    [[nodiscard]] HandleWord& word() const noexcept { return slot_->word; }
    [[nodiscard]] Claim<HandleWord::kKeep> keep() const noexcept {
      slot_->word.keep();
      return {table_, slot_};
    }

   private:
    HandleTable* table_;
    Slot* slot_;  // null when moved from
  };
  using Use = Claim<HandleWord::kCall>;
  using Keep = Claim<HandleWord::kKeep>;

  // Makes an object; returns its handle. resource_exhausted when there are kMost.
  template <typename... Args>
  [[nodiscard]] Result<std::uint64_t> insert(std::uint64_t owner, Args&&... args) {
    Slot* const slot = take_free();
    if (slot == nullptr) return too_many_handles(kKind, kMost);
    new (&slot->place) T(std::forward<Args>(args)...);  // T's construction does not throw
    slot->born.store(fork_generation(), std::memory_order_relaxed);
    slot->owner.store(owner, std::memory_order_relaxed);
    const std::uint32_t generation = slot->word.generation();
    slot->word.publish();
    return Handle::make(kKind, slot->index, generation).id;
  }

  // For one call. The object stays until the claim goes.
  [[nodiscard]] Result<Use> use(const char* what, std::uint64_t id) {
    return claim(what, id, [](HandleWord& word, std::uint32_t g) { return word.take(g); });
  }
  // Ends the handle: the object goes with the last claim, perhaps this one.
  [[nodiscard]] Result<Use> end(const char* what, std::uint64_t id) {
    return claim(what, id, [](HandleWord& word, std::uint32_t g) { return word.end(g); });
  }
  // How it stands with a handle that was good once, of this process: see HandleWord::take().
  // With `ok` the call claims it.
  [[nodiscard]] HandleWord::Take look(std::uint64_t id, std::optional<Use>& use) {
    Slot* const slot = find(id);
    const auto outcome = slot->word.take(Handle{id}.generation());
    if (outcome == HandleWord::Take::ok) use.emplace(this, slot);
    return outcome;
  }

  // Objects that belong to a runtime; out of date when it returns.
  [[nodiscard]] std::size_t count(std::uint64_t owner) {
    std::size_t count = 0;
    const std::uint32_t end = used_.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < end && i < kMost; ++i) {
      Slot* const slot = at(i);
      if (slot != nullptr && slot->word.occupied() &&
          slot->owner.load(std::memory_order_relaxed) == owner)
        ++count;
    }
    return count;
  }

 private:
  using Chunk = std::array<Slot, kChunkSlots>;

  template <typename Change>
  [[nodiscard]] Result<Use> claim(const char* what, std::uint64_t id, Change&& change) {
    Slot* const slot = find(id);
    if (slot == nullptr) return bad_handle(what, kKind, id);
    if (slot->born.load(std::memory_order_relaxed) != fork_generation() &&
        slot->word.generation() == Handle{id}.generation()) {
      return parents_handle(what, kKind);
    }
    const auto outcome = change(slot->word, Handle{id}.generation());
    if (outcome != HandleWord::Take::ok) return bad_take(what, kKind, id, outcome);
    return Use(this, slot);
  }

  [[nodiscard]] Slot* at(std::uint32_t index) noexcept {
    Chunk* const chunk = chunks_[index / kChunkSlots].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : &(*chunk)[index % kChunkSlots];
  }
  // The link to the next of a slot that was given out before, so that its chunk is there.
  [[nodiscard]] std::atomic<std::uint32_t>& next_of(std::uint32_t index) noexcept {
    Slot* const slot = at(index);
    if (slot == nullptr) __builtin_unreachable();
    return slot->next;
  }
  [[nodiscard]] Slot* find(std::uint64_t id) noexcept {
    const Handle handle{id};
    if (handle.kind() != kKind || handle.index() >= kMost) return nullptr;
    return at(handle.index());
  }

  [[nodiscard]] Slot* take_free() {
    const auto next = [this](std::uint32_t i) -> auto& {
      return next_of(i);
    };
    if (const std::uint32_t index = free_.pop(next); index != FreeList::kNone) return at(index);
    if (used_.load(std::memory_order_relaxed) >= kMost) return nullptr;
    const std::uint32_t index = used_.fetch_add(1, std::memory_order_acq_rel);
    if (index >= kMost) return nullptr;
    std::atomic<Chunk*>& place = chunks_[index / kChunkSlots];
    if (place.load(std::memory_order_acquire) == nullptr) {
      auto chunk = std::make_unique<Chunk>();  // if this throws, a number is lost, no more
      for (std::uint32_t i = 0; i < kChunkSlots; ++i)
        (*chunk)[i].index = index / kChunkSlots * kChunkSlots + i;
      Chunk* none = nullptr;
      if (place.compare_exchange_strong(none, chunk.get(), std::memory_order_acq_rel))
        (void)chunk.release();  // stays for the life of the process
    }
    return at(index);
  }

  void destroy(Slot& slot) noexcept {
    slot.object()->~T();
    if (!slot.word.retire()) return;  // 2^32 generations: the slot rests
    free_.push(
        slot.index, [this](std::uint32_t i) -> auto& { return next_of(i); });
  }

  std::array<std::atomic<Chunk*>, kChunks> chunks_{};
  std::atomic<std::uint32_t> used_{0};
  FreeList free_;
};

}  // namespace aqua::capi
