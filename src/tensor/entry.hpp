// SPDX-License-Identifier: Apache-2.0
// TensorEntry: one tensor's row in the mapping table: where its bytes are, who pins them,
// and how they move. A move has two phases (Pie, section 3.2): copy, and once the copy has
// been seen complete, flip the mapping. Nobody waits for the copy.
//
//   stable -> copying -> (closing ->) stable            the flip found no pins on the old place
//                                  -> draining -> stable  readers of the old place were left
//
//   copying   pins get the old place; a write marks its chunks dirty, which are copied again.
//             No round is posted while a write pin is held, but to repeat one that failed: it
//             would read what is being written
//   closing   two rounds more were not enough, or the deadline is near: new write pins wait for
//             the flip. Read pins never wait
//   draining  flipped: pins get the new place; write pins wait until the readers of the old
//             place are gone, so that these never read behind a write
//
// The home is a range of host memory that is reserved for the tensor, so that it can always leave
// borrowed memory (every leased byte has a promised exit). `away` is its place in local or peer
// memory, if it has one. The bytes are at `here`, which is one of the two.
//
// Threads: every method may be called concurrently, but only one Migrator moves a tensor.
//          The lock is held over posting to streams, never over the work itself.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "aqua/tensor.hpp"
#include "base/mutex.hpp"
#include "tensor/deferred_frees.hpp"
#include "tensor/dirty_chunks.hpp"
#include "tensor/place_list.hpp"

namespace aqua::detail {

class TensorEntry : public std::enable_shared_from_this<TensorEntry> {
 public:
  static constexpr unsigned kFreeRounds = 2;  // recopies before writers have to wait
  static constexpr std::chrono::seconds kWritePatience{5};

  // What all tensors of a runtime share; outlives them.
  struct Context {
    device::Device& device;
    tensor::DeferredFrees deferred;
    std::function<void()> nudge;                      // something a migration waits for has changed
    std::function<void(const TensorEntry&)> on_free;  // the handle has gone
  };

  // Either place may be null, not both; the tensor starts at `away` if there is one.
  TensorEntry(Context& context, std::uint64_t id, TensorOptions options,
              std::shared_ptr<TensorPlace> home, std::shared_ptr<TensorPlace> away);
  ~TensorEntry();

  // --- for the engine: see aqua/tensor.hpp ----------------------------------------------
  [[nodiscard]] Result<Pin> pin(Access access, Stream stream, ByteRange range);
  void unpin(const Pin& pin, Stream last_use) noexcept;
  // Where a copy is to write: the present place and, while the tensor moves, the place that it
  // moves to as well, so that the move need not copy these bytes again. Waits for nothing: neither
  // for a flip that is near nor for readers of the place before. Released once the copies are
  // posted. unavailable: such readers hold that place.
  struct CopyPins {
    Pin here;
    Pin there;  // holds nothing unless the tensor moves
  };
  [[nodiscard]] Result<CopyPins> pin_for_copy(Stream stream, ByteRange range);
  void free() noexcept;  // no new pins; places go once pins and work are over
  [[nodiscard]] const TensorOptions& options() const noexcept { return options_; }
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] Tier tier() const noexcept { return tier_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

  // --- for the Migrator -------------------------------------------------------------------
  // Begins a move to `to`: posts its first round on `stream`, once no write pin is held. A null
  // `to` means home.
  //   failed_precondition  it is moving or draining already, is there, or has no home
  //   not_found            freed or lost
  [[nodiscard]] Result<void> begin_move(std::shared_ptr<TensorPlace> to, Stream stream);
  enum class Round : std::uint8_t {
    running,  // the copy has not completed
    again,    // dirty chunks were posted again
    pinned,   // complete, but write pins (or, in a promotion, any pins) hold the old place
    moved,    // flipped
    gone,     // freed, lost or failed: the move is over
    suspect,  // an evacuating copy failed, or a neighbour's on its stream: repeat_round()
  };
  // Looks at the round posted last and takes the next step. `pressing`: writers must not
  // delay it any longer.
  [[nodiscard]] Round step_move(Stream stream, bool pressing);
  // Copies all of it again on `alone`, a stream whose failures can be no other tensor's:
  // should that fail as well, the bytes are lost. not_found when the move is over.
  [[nodiscard]] Result<void> repeat_round(Stream alone);
  // Blocks until the round posted last has completed.
  void wait_round();
  // Whether it has, well or not.
  [[nodiscard]] bool round_over();
  // Gives up a move that has not flipped; the tensor stays where it is.
  void abandon_move();
  // Gives the bytes up, because they are gone or have nowhere to go: every later pin answers
  // data_loss, and the place in peer or local memory is left. Returns false, and changes nothing,
  // when the tensor is freed or was given up before: its owner is told once.
  [[nodiscard]] bool lose();
  // A range of host memory for a tensor that had none.
  void give_home(std::shared_ptr<TensorPlace> home);

  struct Pins {
    unsigned readers = 0;
    unsigned writers = 0;
    std::chrono::steady_clock::time_point since;  // when the oldest of them may have begun
  };
  [[nodiscard]] Pins pins() const;
  [[nodiscard]] bool has_home() const;  // or needs none, because it is freed

 private:
  enum class Phase : std::uint8_t { stable, copying, closing, draining };

  [[nodiscard]] Result<void> check_pin(Stream stream, ByteRange range) const;
  // Waits while the phase makes a writer wait, then as check_there(): neither freed nor lost.
  [[nodiscard]] Result<void> await_writable() AQUA_REQUIRES(mu_);
  [[nodiscard]] Result<void> check_there() const AQUA_REQUIRES(mu_);
  [[nodiscard]] Pin take_pin(const std::shared_ptr<TensorPlace>& place, Access access,
                             Stream stream, ByteRange range) AQUA_REQUIRES(mu_);
  // begin_move() under the lock; The caller hands `leaving` to free_when_quiet() once the lock is
  // free.
  [[nodiscard]] Result<void> try_begin_move(std::shared_ptr<TensorPlace> to, Stream stream,
                                            PlaceList& leaving);
  [[nodiscard]] Result<void> post_round(std::vector<device::CopySegment> segments, Stream stream)
      AQUA_REQUIRES(mu_);
  void flip() AQUA_REQUIRES(mu_);
  void end_move() AQUA_REQUIRES(mu_);
  void retire(std::shared_ptr<TensorPlace>& place) AQUA_REQUIRES(mu_);
  void free_when_quiet(PlaceList leaving);

  Context& context_;
  const std::uint64_t id_;
  const TensorOptions options_;
  std::atomic<Tier> tier_;
  std::atomic<bool> lost_{false};

  mutable Mutex mu_;
  CondVar changed_;  // phase, freed, lost
  Phase phase_ AQUA_GUARDED_BY(mu_) = Phase::stable;
  bool freed_ AQUA_GUARDED_BY(mu_) = false;
  std::shared_ptr<TensorPlace> home_ AQUA_GUARDED_BY(mu_);
  std::shared_ptr<TensorPlace> away_ AQUA_GUARDED_BY(mu_);
  std::shared_ptr<TensorPlace> here_ AQUA_GUARDED_BY(mu_);
  std::shared_ptr<TensorPlace> to_ AQUA_GUARDED_BY(mu_);        // copying, closing
  std::shared_ptr<TensorPlace> draining_ AQUA_GUARDED_BY(mu_);  // draining
  unsigned rounds_ AQUA_GUARDED_BY(mu_) = 0;                    // posted, of this move
  std::uint64_t round_ AQUA_GUARDED_BY(mu_) = 0;                // counts the rounds of all moves
  bool alone_ AQUA_GUARDED_BY(mu_) = false;  // the round posted last has a stream of its own
  tensor::DirtyChunks dirty_ AQUA_GUARDED_BY(mu_);
  std::unique_ptr<device::Event> round_done_ AQUA_GUARDED_BY(mu_);
  PlaceList leaving_ AQUA_GUARDED_BY(mu_);  // unpinned, not yet with DeferredFrees
  std::chrono::steady_clock::time_point pinned_since_ AQUA_GUARDED_BY(mu_){};
};

}  // namespace aqua::detail

namespace aqua {
using detail::TensorEntry;
}  // namespace aqua
