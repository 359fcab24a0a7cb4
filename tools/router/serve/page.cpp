// SPDX-License-Identifier: Apache-2.0
#include "tools/router/serve/page.hpp"

#include <httplib.h>

#include <algorithm>
#include <array>

#include "router_page_files.hpp"
#include "tools/access/page_policy.hpp"

namespace aqua::router {
namespace {

struct PageFile {
  const char* path;
  std::string_view body;
  const char* type;
};
constexpr std::array<PageFile, 4> kPageFiles{
    {{"/", page::index_html, "text/html; charset=utf-8"},
     {"/dashboard.css", page::dashboard_css, "text/css; charset=utf-8"},
     {"/common.js", page::common_js, "text/javascript; charset=utf-8"},
     {"/router.js", page::router_js, "text/javascript; charset=utf-8"}}};

}  // namespace

void install_page(httplib::Server& server) {
  for (const PageFile& file : kPageFiles) {
    server.Get(file.path, [file](const httplib::Request&, httplib::Response& reply) {
      reply.set_header("Content-Security-Policy", access::kPagePolicy);
      reply.set_header("Referrer-Policy", "no-referrer");
      reply.set_content(std::string(file.body), file.type);
    });
  }
}

bool is_of_page(std::string_view path) {
  return std::ranges::any_of(kPageFiles, [&](const PageFile& file) { return path == file.path; });
}

}  // namespace aqua::router
