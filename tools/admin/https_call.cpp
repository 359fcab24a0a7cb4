// SPDX-License-Identifier: Apache-2.0
#include "tools/admin/https_call.hpp"

#include "base/concat.hpp"
#include "base/environment.hpp"
#include "tools/curl/call.hpp"
#include "wire/limits.hpp"

namespace aqua::admin {

bool is_https(std::string_view coordinator) {
  return coordinator.starts_with("https://");
}

southbound::CallOutcome https_call(const curl::Origin& to, const southbound::HttpRequest& request,
                                   southbound::Clock::time_point deadline) {
  curl::Request asked{.method = request.method,
                      .url = to_string(to) + request.target,
                      .headers = {"Content-Type: application/json"},
                      .body = request.body,
                      .authority = environment("AQUA_CA_FILE"),
                      .authority_from = "AQUA_CA_FILE",
                      .deadline = deadline,
                      .most_reply_bytes = wire::kMaxReplyBytes};
  if (const std::string token = southbound::bearer_token(); !token.empty())
    asked.headers.push_back(concat("Authorization: Bearer ", token));
  if (!request.idempotency_key.empty())
    asked.headers.push_back(concat("Idempotency-Key: ", request.idempotency_key));
  curl::Outcome outcome = curl::call(asked);
  southbound::CallOutcome told;
  told.sent = outcome.sent;
  if (outcome.reply) {
    told.reply = southbound::HttpReply{outcome.reply->status, std::move(outcome.reply->body)};
  } else {
    told.error = std::move(outcome.error);
    told.error.message = concat(request.method, " ", told.error.message);
  }
  return told;
}

}  // namespace aqua::admin
