// SPDX-License-Identifier: Apache-2.0
#include "coordinator/api/dashboard.hpp"

#include <string_view>

#include "dashboard_files.hpp"

namespace aqua::coordinator {
namespace {

// The icon is an empty data: URI, or browsers would ask for one.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

void serve(Router& router, const char* path, std::string_view body, const char* type) {
  router.add({"GET", path, Access::anybody, [body, type](const Call&, httplib::Response& response) {
                response.status = 200;
                response.set_header("Content-Security-Policy", kPolicy);
                response.set_header("X-Content-Type-Options", "nosniff");
                response.set_header("Referrer-Policy", "no-referrer");
                response.set_header("Cache-Control", "no-cache");
                response.set_content(body.data(), body.size(), type);
              }});
}

}  // namespace

void install_dashboard(Router& router) {
  serve(router, "/", dashboard::index_html, "text/html; charset=utf-8");
  serve(router, "/dashboard.css", dashboard::dashboard_css, "text/css; charset=utf-8");
  serve(router, "/dashboard.js", dashboard::dashboard_js, "text/javascript; charset=utf-8");
}

}  // namespace aqua::coordinator
