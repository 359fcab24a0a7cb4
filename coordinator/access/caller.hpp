// SPDX-License-Identifier: Apache-2.0
// Who sent a request, once that is proven.
#pragma once

#include <optional>
#include <string>

#include "coordinator/access/peer.hpp"
#include "coordinator/access/sessions.hpp"

namespace aqua::coordinator {

struct Caller {
  Role role = Role::none;          // of the token where there is one, else of the peer
  std::optional<Session> session;  // only where the route wants one
  std::string name;       // "client 5f…", "token 91…", "user 1000": for quotas and the log
  std::string process{};  // "process 4711", of a session; "" where there is none
  std::string user{};     // "user 1000", of a session or a local peer; "" where it is not known
};

}  // namespace aqua::coordinator
