// SPDX-License-Identifier: Apache-2.0
// RequestFilter decides from a request's head whether it goes on: who asks, whether they may, how
// often, and whether its body can be taken. Nothing of the body is read before.
//
// Without a file of tokens everybody who reaches the socket may do everything. But a page of any
// site can make a browser send requests to this machine: what the browser marks as a page's
// (Origin, Sec-Fetch-Site) needs a token in any case. A page that had its own name lead here need
// not be marked, since for the browser it is the router's: so the name (Host) has to be loopback's,
// unless the router is open to other machines, whose pages may read it then.
//
// Threads: every method may be called concurrently.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "aqua/result.hpp"
#include "tools/access/quota.hpp"
#include "tools/access/role.hpp"
#include "tools/access/tokens.hpp"

namespace aqua::router {

// What of a head is decided by; a header that is not there is empty.
struct HeadView {
  std::string_view method{}, path{}, host{}, authorization{}, content_type{}, content_length{};
  bool has_transfer_encoding = false, has_content_encoding = false, from_page = false;
};

struct Refused {
  int status = 400;
  Error error{};
};

struct RequestFilterOptions {
  std::string tokens{};  // the file; "": none are asked for
  bool open = false;     // without tokens: whatever name the router is asked by
  access::QuotaLimits quota{.rate = 1000, .concurrent = 256};
  std::size_t most_body = std::size_t{8} << 20;
};

class RequestFilter {
 public:
  explicit RequestFilter(const RequestFilterOptions& options);

  // Lets it in, counted against its caller for as long as `pass` lives; or the refusal.
  [[nodiscard]] std::optional<Refused> refusal_of(const HeadView& head,
                                                  std::optional<access::Quota::Pass>& pass);

 private:
  [[nodiscard]] std::optional<Refused> identify(const HeadView& head,
                                                std::optional<access::Quota::Pass>& pass);

  const RequestFilterOptions options_;
  access::TokenBook book_;
  access::Quota quota_;
};

// The least role that may ask for it.
[[nodiscard]] access::Role role_for(std::string_view method, std::string_view path);

}  // namespace aqua::router
