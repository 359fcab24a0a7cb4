// SPDX-License-Identifier: Apache-2.0
#include "tensor/migrator.hpp"

#include <algorithm>
#include <thread>

#include "base/step.hpp"
#include "base/try.hpp"

namespace aqua::tensor {
namespace {

constexpr std::chrono::microseconds kLookAgain{20};  // a small copy's time

}  // namespace

Result<std::unique_ptr<Migrator>> Migrator::create(device::Device& device) {
  AQUA_ASSIGN(auto alone_done, device.create_event());
  AQUA_ASSIGN(auto stream, device::OwnStream::create(device));
  AQUA_ASSIGN(auto alone, device::OwnStream::create(device));
  return std::unique_ptr<Migrator>(
      new Migrator(device, std::move(stream), std::move(alone), std::move(alone_done)));
}

// Waits, because a copy must not run into places that are about to be freed.
Migrator::~Migrator() {
  for (const Move& move : moves_) {
    move.entry->wait_round();
    move.entry->abandon_move();
  }
}

Result<void> Migrator::start(std::shared_ptr<TensorEntry> entry, std::shared_ptr<TensorPlace> to) {
  step("copy");
  const bool promotion = to != nullptr;
  AQUA_TRY(entry->begin_move(std::move(to), *stream_));
  in_flight_bytes_ += entry->options().bytes;
  moves_.push_back({.entry = std::move(entry), .promotion = promotion});
  return {};
}

// The window is counted by bytes in flight, of which a move that waits for pins has none: a tensor
// that stays pinned must not keep the others from leaving.
bool Migrator::poll(bool pressing) {
  bool ended = false;
  in_flight_bytes_ = 0;
  std::deque<Move> left;
  for (Move& move : moves_) {
    const auto round = move.entry->step_move(*stream_, pressing && !move.promotion);
    if (round == TensorEntry::Round::moved) account(move);
    if (round == TensorEntry::Round::gone && move.entry->lost()) lost_.push_back(move.entry);
    if (round == TensorEntry::Round::moved || round == TensorEntry::Round::gone) {
      ended = true;
      continue;
    }
    move.pinned = round == TensorEntry::Round::pinned;
    if (!move.pinned) in_flight_bytes_ += move.entry->options().bytes;
    move.suspect = round == TensorEntry::Round::suspect && !copy_alone(*move.entry);
    left.push_back(std::move(move));
  }
  moves_ = std::move(left);
  return ended;
}

// Returns false when another tensor's copy is still on the second stream. Asking about that copy
// reports its failure, so that it does not show on ours.
bool Migrator::copy_alone(TensorEntry& entry) {
  const auto over = device_.query(*alone_done_);
  if (over.ok() && !*over) return false;
  (void)entry.repeat_round(*alone_);            // an error shows in the next step
  (void)device_.record(*alone_done_, *alone_);  // likewise
  return true;
}

void Migrator::account(const Move& move) {
  (move.promotion ? stats_.promotions : stats_.evacuations) += 1;
  (move.promotion ? stats_.promoted_bytes : stats_.evacuated_bytes) += move.entry->options().bytes;
}

bool Migrator::wait_next(std::chrono::microseconds patience) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + patience;
  while (!next_is_over()) {
    if (Clock::now() >= until) return false;
    std::this_thread::sleep_for(kLookAgain);
  }
  return true;
}

bool Migrator::next_is_over() {
  const auto running =
      std::find_if(moves_.begin(), moves_.end(), [](const Move& move) { return move.running(); });
  if (running != moves_.end()) return running->entry->round_over();
  if (!copying()) return true;
  const auto alone = device_.query(*alone_done_);  // what the suspects wait for
  return !alone.ok() || *alone;                    // poll() sees a failure
}

void Migrator::abandon_promotions() {
  std::erase_if(moves_, [this](const Move& move) {
    if (!move.promotion) return false;
    move.entry->abandon_move();
    if (!move.pinned) in_flight_bytes_ -= move.entry->options().bytes;
    return true;
  });
}

bool Migrator::copying() const noexcept {
  return std::any_of(moves_.begin(), moves_.end(), [](const Move& move) { return !move.pinned; });
}

}  // namespace aqua::tensor
