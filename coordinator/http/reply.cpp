// SPDX-License-Identifier: Apache-2.0
#include "coordinator/http/reply.hpp"

#include "base/concat.hpp"
#include "wire/problem.hpp"

namespace aqua::coordinator {

Reply problem(const Epoch& epoch, const Refusal& refusal) {
  const auto status = static_cast<std::uint16_t>(refusal.status);
  return {
      .type = wire::kProblemType,
      .body = wire::encode(wire::Problem{.epoch = epoch, .status = status, .error = refusal.error}),
      .status = refusal.status,
      .reason = wire::title_of(refusal.error.code),
      .headers = refusal.headers};
}

void write_reply(Stream& stream, const Reply& reply, bool with_body) {
  std::string text =
      concat("HTTP/1.1 ", reply.status, " ", reply.reason, "\r\nContent-Type: ", reply.type,
             "\r\nX-Content-Type-Options: nosniff\r\nCache-Control: ", reply.cache,
             "\r\nCross-Origin-Resource-Policy: same-origin\r\n", reply.headers,
             "Content-Length: ", reply.content().size(), "\r\nConnection: close\r\n\r\n");
  // In one piece, unless it is long and belongs to others too.
  if (with_body && !reply.shared) text += reply.body;
  if (write_all(stream, text) && with_body && reply.shared) write_all(stream, *reply.shared);
}

}  // namespace aqua::coordinator
