// SPDX-License-Identifier: Apache-2.0
// Keeps the pages of other sites out. A browser sends what a page asks for with the rights of
// whoever sits before it, through a tunnel to the Unix socket an operator's. It also says, in
// headers that no page can set, which host it believes it talks to (Host) and which page asked
// (Origin, Sec-Fetch-Site: Fetch Standard, W3C Fetch Metadata).
//
// Threads: free functions.
#pragma once

#include <optional>
#include <string_view>

#include "coordinator/http/refusal.hpp"
#include "coordinator/http/request_head.hpp"

namespace aqua::coordinator {

// True when the request carries a header that only browsers add. Each of them adds one to a request
// that is not GET or HEAD.
[[nodiscard]] bool is_of_a_page(const RequestHead& head);

// What a request may name as its host and its page.
struct OwnNames {
  // False: "localhost", "aqua" and loopback addresses only, or a stranger's name that was made to
  // lead here (DNS rebinding) would be taken for ours. True where a certificate proves the name.
  bool any_host = false;
  std::string_view proxy;  // a proxy's name, which is ours as well; "": none
};

// The refusal (400, 421) of a request that names another host than ours, or whose page is not
// ours. `may_be_linked`: a link on any page may open the route; that page cannot read the reply.
[[nodiscard]] std::optional<Refusal> refusal_of_origin(const RequestHead& head,
                                                       const OwnNames& names, bool may_be_linked);

}  // namespace aqua::coordinator
