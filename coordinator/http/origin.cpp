// SPDX-License-Identifier: Apache-2.0
#include "coordinator/http/origin.hpp"

#include <string>

#include "base/concat.hpp"
#include "tools/access/host.hpp"

namespace aqua::coordinator {
namespace {

using access::host_of;

constexpr int kMisdirected = 421;

bool is_ours(std::string_view host, const OwnNames& names) {
  return host == "aqua" || access::is_loopback(host) ||
         (!names.proxy.empty() && host == names.proxy);
}

// "scheme://authority" without its scheme; "" for "null".
std::string_view authority_of(std::string_view origin) {
  const std::size_t end = origin.find("://");
  return end == std::string_view::npos ? std::string_view{} : origin.substr(end + 3);
}

Refusal misdirected(std::string message) {
  return {kMisdirected, Error{Code::permission_denied, std::move(message)}};
}

}  // namespace

bool is_of_a_page(const RequestHead& head) {
  return head.count("origin") > 0 || head.count("sec-fetch-site") > 0;
}

std::optional<Refusal> refusal_of_origin(const RequestHead& head, const OwnNames& names,
                                         bool may_be_linked) {
  for (const char* once : {"host", "origin", "sec-fetch-site"}) {
    if (head.count(once) > 1) return refuse(400, concat(once, " is given twice"));
  }
  const std::string host = lower(head.value("host"));
  if (head.count("host") > 0 && !names.any_host && !is_ours(host_of(host), names)) {
    return misdirected(
        "Host is not localhost, 127.0.0.1, [::1] or aqua (nor --proxy-host); see "
        "docs/operate/http.md");
  }
  // Another port is another page, of whoever listens there.
  if (head.count("origin") > 0) {
    const std::string page = lower(authority_of(head.value("origin")));
    const bool by_proxy = !names.proxy.empty() && host_of(page) == names.proxy;
    if (page.empty() || (page != host && !by_proxy))
      return misdirected("Origin is the page of another site");
  }
  const std::string_view site = head.value("sec-fetch-site");
  if (!may_be_linked && !site.empty() && site != "same-origin" && site != "none")
    return misdirected("Sec-Fetch-Site: the page of another site asks");
  return std::nullopt;
}

}  // namespace aqua::coordinator
