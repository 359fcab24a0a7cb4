// SPDX-License-Identifier: Apache-2.0
// Outbox is what an engine says to one attempt: the engine's thread puts events in, the thread of
// its connection takes them out.
//
// Threads: any.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "speech/asked.hpp"
#include "speech/told.hpp"

namespace aqua::fleet {

class Outbox {
 public:
  struct Whole {
    std::vector<Token> tokens{};
    std::string text{};
    std::string finish{};
  };
  struct Taken {
    std::string events{};
    bool ended = false;  // nothing follows
  };

  void say(std::string_view event, bool last = false) {
    const std::lock_guard lock(mu_);
    events_ += event;
    ended_ = ended_ || last;
    changed_.notify_all();
  }
  void say_token(const Said& said) {
    const std::lock_guard lock(mu_);
    events_ += token_event(said);
    whole_.tokens.push_back(said.token);
    whole_.text += said.text;
    whole_.finish = said.finish;
    ended_ = ended_ || !said.finish.empty();
    changed_.notify_all();
  }
  // It ends in the middle: what was asked for cannot be.
  void refuse(const std::string& why) {
    const std::lock_guard lock(mu_);
    refusal_ = why;
    ended_ = true;
    changed_.notify_all();
  }

  // What is there by then.
  [[nodiscard]] Taken take(std::chrono::milliseconds patience) {
    std::unique_lock lock(mu_);
    changed_.wait_for(lock, patience, [this] { return ended_ || !events_.empty(); });
    return {std::exchange(events_, {}), ended_};
  }
  // Whether it ended; then all of its tokens, or why there are none.
  [[nodiscard]] bool await_end(std::chrono::milliseconds patience) {
    std::unique_lock lock(mu_);
    return changed_.wait_for(lock, patience, [this] { return ended_; });
  }
  // Whether it has said a token, or ended without one.
  [[nodiscard]] bool await_token(std::chrono::milliseconds patience) {
    std::unique_lock lock(mu_);
    return changed_.wait_for(lock, patience, [this] { return ended_ || !whole_.tokens.empty(); });
  }
  // The answer so far.
  [[nodiscard]] Whole whole() const {
    const std::lock_guard lock(mu_);
    return whole_;
  }
  [[nodiscard]] std::string refusal() const {
    const std::lock_guard lock(mu_);
    return refusal_;
  }

 private:
  mutable std::mutex mu_;
  std::condition_variable changed_;
  std::string events_{};
  Whole whole_{};
  std::string refusal_{};
  bool ended_ = false;
};

}  // namespace aqua::fleet
