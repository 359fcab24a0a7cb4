// SPDX-License-Identifier: Apache-2.0
// Completions and chat: a request as it came in, its conversation, and the reply as events or
// whole.
//
// Threads: the connection's.
#pragma once

#include <functional>

#include "tools/router/fleet/fleet.hpp"
#include "tools/router/flow/conversation.hpp"
#include "tools/router/observe/counters.hpp"

namespace httplib {
struct Request;
struct Response;
}  // namespace httplib

namespace aqua::router {

struct CompletionContext {
  Fleet& fleet;
  Counters& counters;
  const ConversationOptions& options;
  std::function<bool()> stopping;  // the router ends what is here
};

// Answers; the reply's provider of content runs on this thread too, after it has returned.
void complete(const CompletionContext& context, Api api, const httplib::Request& request,
              httplib::Response& reply);

// A reply that is an error. The status is the code's.
void answer_error(httplib::Response& reply, const Error& error);
void answer_error(httplib::Response& reply, int status, const Error& error);

}  // namespace aqua::router
