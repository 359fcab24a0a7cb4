// Lobby is where connections wait until they have said what they want: one thread accepts
// them and collects the head of their request. So a client that is idle, slow or one of ten
// thousand costs a descriptor and what it has sent, and no thread.
//
// Threads: one of its own, which also calls `arrived`; stop() from any.
// Owns:    the listening socket and the connections that wait.
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

namespace aqua::coordinator {

struct LobbyLimits {
  std::size_t connections = 10'000;  // that wait; one more ends the one that waits longest
  std::size_t head_bytes = std::size_t{32} << 10;
  std::chrono::milliseconds patience{5000};  // from accept to the last byte of the head
};

class Lobby {
 public:
  using Clock = std::chrono::steady_clock;

  struct Arrival {
    UniqueFd fd;             // non-blocking
    std::string text;        // what came so far: a head, and perhaps what follows it
    std::size_t head_bytes;  // 0: no head within the limit, or within the time
    bool late = false;       // the time is over
    Clock::time_point accepted;
  };
  using Arrived = std::function<void(Arrival)>;

  // `listener` listens and is non-blocking.
  [[nodiscard]] static Result<std::unique_ptr<Lobby>> start(UniqueFd listener,
                                                            const LobbyLimits& limits,
                                                            Arrived arrived);
  // Accepts no more and closes what waits.
  ~Lobby();
  Lobby(const Lobby&) = delete;
  Lobby& operator=(const Lobby&) = delete;

 private:
  struct Waiting {
    UniqueFd fd;
    std::string text;
    Clock::time_point accepted;
  };
  using Line = std::list<Waiting>;  // in order of acceptance, so of deadlines too

  Lobby(UniqueFd listener, UniqueFd stop, UniqueFd epoll, const LobbyLimits& limits,
        Arrived arrived);
  void run();
  [[nodiscard]] int wait_ms() const;
  void accept_all();
  void make_room(const char* why);
  void hear(Line::iterator at);
  void hand_over(Line::iterator at, std::size_t head_bytes, bool late);
  void leave(Line::iterator at);
  void end_late();

  const UniqueFd listener_;
  const UniqueFd stop_;  // an eventfd
  const UniqueFd epoll_;
  const LobbyLimits limits_;
  const Arrived arrived_;
  // The thread's own.
  Line line_;
  std::unordered_map<int, Line::iterator> by_fd_;
  std::uint64_t shed_ = 0;  // connections ended to make room

  std::thread thread_;
};

}  // namespace aqua::coordinator
