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

std::string to_text(const Reply& reply, bool with_body) {
  std::string text =
      concat("HTTP/1.1 ", reply.status, " ", reply.reason, "\r\nContent-Type: ", reply.type, "\r\n",
             reply.headers, "Content-Length: ", reply.body.size(), "\r\nConnection: close\r\n\r\n");
  if (with_body) text += reply.body;
  return text;
}

}  // namespace aqua::coordinator
