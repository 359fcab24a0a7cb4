// SPDX-License-Identifier: Apache-2.0
// One request to a coordinator over TLS, and its reply. It is no part of libaqua: engines are on
// the coordinator's machine, and link no TLS library.
//
// Threads: free functions.
#pragma once

#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "southbound/http_call.hpp"

namespace aqua::admin {

struct HttpsAddress {
  std::string host;  // a DNS name, or an address in numbers; IPv6 in brackets
  int port = 0;
};

[[nodiscard]] bool is_https(std::string_view coordinator);

// Of "https://HOST:PORT". invalid_argument for anything else.
[[nodiscard]] Result<HttpsAddress> parse_https(std::string_view coordinator);

// The coordinator's certificate has to name the host, and to lead to an authority in the file that
// AQUA_CA_FILE names or, without one, to one that this system trusts. Carries bearer_token().
// Errors: unavailable; deadline_exceeded; failed_precondition where the certificate does not do.
[[nodiscard]] southbound::CallOutcome https_call(const HttpsAddress& to,
                                                 const southbound::HttpRequest& request,
                                                 southbound::Clock::time_point deadline);

}  // namespace aqua::admin
