// SPDX-License-Identifier: Apache-2.0
#include "coordinator/api/dashboard.hpp"

#include <string>
#include <string_view>

#include "base/concat.hpp"
#include "dashboard_files.hpp"
#include "tools/access/page_policy.hpp"

namespace aqua::coordinator {
namespace {

void serve(Router& router, const char* path, std::string_view body, const char* type) {
  router.add({"GET", path, Access::anybody, [body, type](const Call&) {
                return Reply{.type = type,
                             .body = std::string(body),
                             .headers = concat("Content-Security-Policy: ", access::kPagePolicy,
                                               "\r\nReferrer-Policy: no-referrer\r\n"),
                             .cache = "no-cache"};
              }});
}

}  // namespace

void install_dashboard(Router& router) {
  serve(router, "/", dashboard::index_html, "text/html; charset=utf-8");
  serve(router, "/dashboard.css", dashboard::dashboard_css, "text/css; charset=utf-8");
  serve(router, "/common.js", dashboard::common_js, "text/javascript; charset=utf-8");
  serve(router, "/dashboard.js", dashboard::dashboard_js, "text/javascript; charset=utf-8");
}

}  // namespace aqua::coordinator
