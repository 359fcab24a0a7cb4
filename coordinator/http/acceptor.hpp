// SPDX-License-Identifier: Apache-2.0
// Acceptor accepts connections, does their TLS handshakes, and collects the head of each one's
// request, all on one thread. A client that is idle or slow therefore costs a descriptor and what
// it has sent (with TLS: what OpenSSL needs for a handshake), and no thread.
//
// Threads: one of its own, which also calls `arrived`; the destructor from any.
// Owns:    the listening socket and the pending connections; borrows the identity.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>

#include "aqua/result.hpp"
#include "base/unique_fd.hpp"
#include "coordinator/access/pace.hpp"
#include "coordinator/http/channel.hpp"
#include "coordinator/tls/tls_identity.hpp"

namespace aqua::coordinator {

struct AcceptorLimits {
  std::size_t connections = 10'000;  // pending; one more closes the oldest
  std::size_t head_bytes = std::size_t{32} << 10;
  std::size_t pending_bytes = std::size_t{16} << 20;  // of all; one more closes who has sent most
  std::chrono::milliseconds head_timeout{5000};       // from accept to the last byte of the head
  // Connections a second that one process may make to a Unix socket (Pace); 0: as many as come.
  std::size_t process_rate = 0;
};

class Acceptor {
 public:
  using Clock = std::chrono::steady_clock;

  enum class Progress : std::uint8_t {
    head,           // a request's, and perhaps what follows it
    head_too_long,  // no end of it within the limit
    timed_out,      // a beginning, and no end of it within the time
    not_tls,        // plain bytes where TLS is spoken: answer plainly
  };
  struct Arrival {
    Channel channel;
    std::string text;  // what came so far
    Progress progress;
    Clock::time_point accepted;
  };
  using Arrived = std::function<void(Arrival)>;

  // Accepts from `listener`, a listening non-blocking socket. `tls` is the identity shown over
  // TLS; nullptr: plain. A client that does not end its handshake in time, or says nothing at all,
  // is closed unanswered. Without memory for a connection the oldest of these is closed. Beyond the
  // rate of its process a connection is not read before its turn, and closed where that is far.
  [[nodiscard]] static Result<std::unique_ptr<Acceptor>> start(UniqueFd listener,
                                                               const AcceptorLimits& limits,
                                                               const TlsIdentity* tls,
                                                               Arrived arrived);
  // Accepts no more and closes the pending connections.
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

 private:
  struct Pending {
    Channel channel;
    std::string text;
    Clock::time_point accepted;
    bool open;          // plain, or the TLS handshake has begun
    short watched = 0;  // the poll events that epoll watches it for; 0: not in the set
  };
  using Pendings = std::list<Pending>;  // in order of acceptance, so of deadlines too

  Acceptor(UniqueFd listener, UniqueFd stop, UniqueFd epoll, const AcceptorLimits& limits,
           const TlsIdentity* tls, Arrived arrived);
  void run();
  // Waits for something to happen, and deals with it. False: it is time to stop.
  [[nodiscard]] bool turn();
  [[nodiscard]] int wait_ms() const;
  void accept_some();
  // Where the connection's process makes too many of them: keeps it until its turn, or closes it.
  // True: it is no longer `fd`'s.
  [[nodiscard]] bool hold_back(UniqueFd& fd);
  // Begins to read those whose turn has come.
  void let_in_due();
  void let_in(UniqueFd fd);
  // Closes a pending connection for the sake of others.
  void make_room(Pendings::iterator at, const char* why);
  // Tells the log that a connection is closed so.
  void tell_shed(const char* why);
  // Reads what has come; hands the connection over, or closes it, where that settles it.
  void read_some(Pendings::iterator at);
  // Begins TLS once the first bytes are seen to be a ClientHello. False: not yet, or handed over.
  [[nodiscard]] bool begin_tls(Pendings::iterator at);
  // Has epoll watch `fd` for what its channel waits for, where it is still pending.
  void watch_for_more(int fd);
  // Keeps what has come. False: there is no room for it, and it must be closed.
  [[nodiscard]] bool append(Pending& pending, std::string_view bytes);
  void hand_over(Pendings::iterator at, Progress progress);
  void close(Pendings::iterator at);
  void end_expired();

  const UniqueFd listener_;
  const UniqueFd stop_;  // an eventfd
  const UniqueFd epoll_;
  const AcceptorLimits limits_;
  const TlsIdentity* const tls_;
  const Arrived arrived_;
  // Touched by the thread alone.
  std::optional<Pace> pace_;
  std::multimap<Clock::time_point, UniqueFd> held_;  // not read before that time
  Pendings pending_;
  std::unordered_map<int, Pendings::iterator> by_fd_;
  std::size_t bytes_ = 0;   // of the texts of pending_
  std::uint64_t shed_ = 0;  // connections ended to make room

  std::thread thread_;
};

}  // namespace aqua::coordinator
