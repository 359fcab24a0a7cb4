// SPDX-License-Identifier: Apache-2.0
// KeeperLink is the thread by which a member speaks to its keeper, so that no engine waits for an
// answer: it takes turns as long as there is something to ask, and waits then until this process or
// the keeper has something.
//
// Threads: every method may be called concurrently, but start() and stop(), which are the first and
// the last.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "aqua/result.hpp"
#include "base/mutex.hpp"
#include "base/unique_fd.hpp"
#include "base/wake_event.hpp"

namespace aqua {

class KeeperLink {
 public:
  // How long a call to the keeper may take: it may be stopped, which is not the end of it, and when
  // it ends the call does too.
  static constexpr std::chrono::hours kWithoutEnd{24 * 365};
  // For which stop() waits for an answer.
  static constexpr std::chrono::seconds kLastAnswers{5};

  enum class Turn : std::uint8_t {
    asked,         // there may be more to ask
    idle,          // there is nothing to ask now
    disconnected,  // nor will the keeper have anything
  };
  // What the thread calls, without a lock.
  struct Calls {
    // Asks the keeper one thing. `ending`: only what this process has asked for.
    std::function<Turn(bool ending)> turn;
    std::function<void()> woken;   // the keeper has something
    std::function<void()> closed;  // the keeper has closed the connection
  };
  // `connection` is the keeper's, a descriptor that somebody else owns; `wake` is what the keeper
  // signals when it has something.
  [[nodiscard]] static Result<std::unique_ptr<KeeperLink>> make(int connection, UniqueFd wake);
  ~KeeperLink() { stop(); }
  KeeperLink(const KeeperLink&) = delete;
  KeeperLink& operator=(const KeeperLink&) = delete;

  void start(Calls calls);
  // What the keeper signals. Before start() the caller may wait for it and clear it.
  [[nodiscard]] int wake_event() const noexcept { return wake_.get(); }
  // There is something to ask.
  void kick() const noexcept { signal_event(kick_.get()); }
  // Calls the keeper. Only while a call lasts does stop() count its patience.
  template <typename Call>
  auto ask(const Call& call) AQUA_EXCLUDES(mu_) {
    set_asked(std::chrono::steady_clock::now());
    auto answer = call();
    set_asked(std::nullopt);
    return answer;
  }
  // Ends the thread once nothing is left to ask, however long it does something else. A keeper that
  // answers nothing for as long as `patience` is not waited for: the connection is shut down.
  void stop(std::chrono::milliseconds patience = kLastAnswers);

 private:
  KeeperLink(UniqueFd connection, UniqueFd wake, UniqueFd kick);
  void run() AQUA_EXCLUDES(mu_);
  // Until there is something to ask, or the keeper has something.
  void wait(bool connected) const;
  [[nodiscard]] bool ending() AQUA_EXCLUDES(mu_);
  void set_asked(std::optional<std::chrono::steady_clock::time_point> when) AQUA_EXCLUDES(mu_);

  const UniqueFd connection_;  // a descriptor of its own of the keeper's connection
  const UniqueFd wake_;        // the keeper signals it
  const UniqueFd kick_;        // this process does
  Calls calls_;

  Mutex mu_;
  CondVar changed_;
  bool ending_ AQUA_GUARDED_BY(mu_) = false;
  bool ended_ AQUA_GUARDED_BY(mu_) = false;
  // When the keeper was asked what it has not answered yet.
  std::optional<std::chrono::steady_clock::time_point> asked_ AQUA_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace aqua
