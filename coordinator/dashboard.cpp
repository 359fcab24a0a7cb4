#include "coordinator/dashboard.hpp"

#include <string_view>

#include "dashboard_files.hpp"

namespace aqua::coordinator {
namespace {

// The icon is an empty data: URI, or browsers would ask for one.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

void serve(httplib::Server& server, const char* path, std::string_view body, const char* type) {
  server.Get(path, [body, type](const httplib::Request&, httplib::Response& response) {
    response.set_header("Content-Security-Policy", kPolicy);
    response.set_header("X-Content-Type-Options", "nosniff");
    response.set_header("Referrer-Policy", "no-referrer");
    response.set_header("Cache-Control", "no-cache");
    response.set_content(body.data(), body.size(), type);
  });
}

}  // namespace

void install_dashboard(httplib::Server& server) {
  serve(server, "/", dashboard::index_html, "text/html; charset=utf-8");
  serve(server, "/dashboard.css", dashboard::dashboard_css, "text/css; charset=utf-8");
  serve(server, "/dashboard.js", dashboard::dashboard_js, "text/javascript; charset=utf-8");
}

}  // namespace aqua::coordinator
