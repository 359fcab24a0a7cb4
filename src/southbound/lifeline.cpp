#include "southbound/lifeline.hpp"

#include <span>
#include <string_view>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "base/unix_socket.hpp"
#include "wire/error.hpp"
#include "wire/limits.hpp"

namespace aqua::southbound {

Result<Lifeline> connect_lifeline(const std::string& path, const ClientId& client,
                                  std::chrono::milliseconds patience) {
  AQUA_ASSIGN(UniqueFd fd, connect_seqpacket(path));
  Lifeline lifeline{ForkGuardedFd(std::move(fd)), {}};
  const std::string hello = wire::encode(wire::Hello{.client = client});
  AQUA_TRY(send_message(lifeline.fd.get(), std::as_bytes(std::span(hello)), {}, patience));
  AQUA_ASSIGN(const Message answer,
              receive_message(lifeline.fd.get(), wire::kMaxHelloBytes, patience));
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
