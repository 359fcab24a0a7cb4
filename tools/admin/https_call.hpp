// SPDX-License-Identifier: Apache-2.0
// One request to a coordinator over TLS, and its reply. It is no part of libaqua: engines are on
// the coordinator's machine, and link no TLS library.
//
// Threads: free functions.
#pragma once

#include <string_view>

#include "southbound/http_call.hpp"
#include "tools/curl/origin.hpp"

namespace aqua::admin {

[[nodiscard]] bool is_https(std::string_view coordinator);

// The coordinator's certificate has to name the host, and to lead to an authority in the file that
// AQUA_CA_FILE names or, without one, to one that this system trusts. Carries bearer_token().
// Errors: unavailable; deadline_exceeded; failed_precondition where the certificate does not do.
[[nodiscard]] southbound::CallOutcome https_call(const curl::Origin& to,
                                                 const southbound::HttpRequest& request,
                                                 southbound::Clock::time_point deadline);

}  // namespace aqua::admin
