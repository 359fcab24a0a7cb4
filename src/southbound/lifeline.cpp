// SPDX-License-Identifier: Apache-2.0
#include "southbound/lifeline.hpp"

#include <poll.h>

#include <span>
#include <string_view>
#include <utility>

#include "base/concat.hpp"
#include "base/socket/unix_socket.hpp"
#include "base/try.hpp"
#include "wire/error.hpp"
#include "wire/limits.hpp"

namespace aqua::southbound {

Result<Lifeline> connect_lifeline(const std::string& path, const ClientId& client,
                                  std::chrono::milliseconds patience, const Interrupt& interrupt) {
  AQUA_ASSIGN(UniqueFd fd, connect_seqpacket(path));
  Lifeline lifeline{ForkGuardedFd(std::move(fd)), {}};
  const int socket = lifeline.fd.get();
  const std::string hello = wire::encode(wire::Hello{.client = client});
  constexpr std::chrono::milliseconds kNone{0};  // the first message of a connection finds room
  const auto sent = send_message(socket, std::as_bytes(std::span(hello)), {}, kNone);
  // Who is refused before it has spoken finds the reason there all the same.
  if (!sent.ok() && sent.error().code != Code::unavailable) return sent.error();
  pollfd fds[] = {{socket, POLLIN, 0}, {interrupt.fd(), POLLIN, 0}};
  const int ready = ::poll(fds, 2, static_cast<int>(patience.count()));
  if (fds[1].revents != 0)
    return Error{Code::cancelled, concat("lifeline ", path, ": interrupted")};
  if (ready <= 0)
    return Error{Code::unavailable,
                 concat("lifeline ", path, ": no welcome in ", patience.count(), " ms")};
  AQUA_ASSIGN(const Message answer, receive_message(socket, wire::kMaxHelloBytes, kNone));
  const std::string_view text(reinterpret_cast<const char*>(answer.bytes.data()),
                              answer.bytes.size());
  if (text.empty())
    return Error{Code::unavailable, concat("lifeline ", path, ": closed without a welcome")};
  auto welcome = wire::decode<wire::Welcome>(text);
  if (welcome.ok()) {
    lifeline.welcome = *std::move(welcome);
    return lifeline;
  }
  AQUA_ASSIGN(wire::ErrorReply refusal, wire::decode<wire::ErrorReply>(text));
  return std::move(refusal.error);
}

}  // namespace aqua::southbound
