// SPDX-License-Identifier: Apache-2.0
#include "coordinator/http/reply.hpp"

#include "base/concat.hpp"
#include "wire/problem.hpp"

namespace aqua::coordinator {
namespace {

std::string body_of(const Epoch& epoch, const Error& error, int status) {
  return wire::encode(
      wire::Problem{.epoch = epoch, .status = static_cast<std::uint16_t>(status), .error = error});
}

}  // namespace

void write_problem(httplib::Response& response, const Epoch& epoch, const Error& error,
                   int status) {
  response.status = status;
  response.set_content(body_of(epoch, error, status), wire::kProblemType);
}

std::string problem_text(const Epoch& epoch, const Refusal& refusal) {
  const std::string body = body_of(epoch, refusal.error, refusal.status);
  return concat("HTTP/1.1 ", refusal.status, " ", wire::title_of(refusal.error.code),
                "\r\nContent-Type: ", wire::kProblemType, "\r\n", refusal.headers,
                "Content-Length: ", body.size(), "\r\nConnection: close\r\n\r\n", body);
}

}  // namespace aqua::coordinator
