// SPDX-License-Identifier: Apache-2.0
// Lobby is where connections wait until they have said what they want: one thread accepts
// them, shakes hands where TLS is spoken, and collects the head of their request. So a client that
// is idle, slow or one of ten thousand costs a descriptor and what it has sent (with TLS: what
// OpenSSL needs for a handshake), and no thread.
//
// Threads: one of its own, which also calls `arrived`; stop() from any.
// Owns:    the listening socket and the connections that wait; borrows the identity.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>

#include "aqua/result.hpp"
#include "base/unique_fd.hpp"
#include "coordinator/http/channel.hpp"
#include "coordinator/http/tls_identity.hpp"

namespace aqua::coordinator {

struct LobbyLimits {
  std::size_t connections = 10'000;  // that wait; one more ends the one that waits longest
  std::size_t head_bytes = std::size_t{32} << 10;
  std::chrono::milliseconds patience{5000};  // from accept to the last byte of the head
};

class Lobby {
 public:
  using Clock = std::chrono::steady_clock;

  enum class Said : std::uint8_t {
    head,      // a request's, and perhaps what follows it
    too_much,  // no head within the limit
    too_late,  // none within the time
    no_tls,    // something else than TLS begins with, where TLS is spoken: answer plainly
  };
  struct Arrival {
    Channel channel;
    std::string text;  // what came so far
    Said said;
    Clock::time_point accepted;
  };
  using Arrived = std::function<void(Arrival)>;

  // `listener` listens and is non-blocking. `tls`: what is shown of us; nullptr: plain. Who does
  // not end the handshake in time is left without a word.
  [[nodiscard]] static Result<std::unique_ptr<Lobby>> start(UniqueFd listener,
                                                            const LobbyLimits& limits,
                                                            const TlsIdentity* tls,
                                                            Arrived arrived);
  // Accepts no more and closes what waits.
  ~Lobby();
  Lobby(const Lobby&) = delete;
  Lobby& operator=(const Lobby&) = delete;

 private:
  struct Waiting {
    Channel channel;
    std::string text;
    Clock::time_point accepted;
    bool greeted;       // plain, or a TLS handshake has begun
    short watched = 0;  // for what the set watches it; 0: not in it
  };
  using Line = std::list<Waiting>;  // in order of acceptance, so of deadlines too

  Lobby(UniqueFd listener, UniqueFd stop, UniqueFd epoll, const LobbyLimits& limits,
        const TlsIdentity* tls, Arrived arrived);
  void run();
  [[nodiscard]] int wait_ms() const;
  void accept_all();
  void make_room(const char* why);
  void hear(Line::iterator at);
  // True: there is more to hear, plainly or within TLS.
  [[nodiscard]] bool greet(Line::iterator at);
  // Where it still waits: until it is ready for what it wants.
  void attend(int fd);
  void hand_over(Line::iterator at, Said said);
  void leave(Line::iterator at);
  void end_late();

  const UniqueFd listener_;
  const UniqueFd stop_;  // an eventfd
  const UniqueFd epoll_;
  const LobbyLimits limits_;
  const TlsIdentity* const tls_;
  const Arrived arrived_;
  // The thread's own.
  Line line_;
  std::unordered_map<int, Line::iterator> by_fd_;
  std::uint64_t shed_ = 0;  // connections ended to make room

  std::thread thread_;
};

}  // namespace aqua::coordinator
