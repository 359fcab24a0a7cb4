// SPDX-License-Identifier: Apache-2.0
// The router's page at /: engines, requests and moves as they are now. Four files compiled into
// this program, with headers that let the page load nothing from anywhere else and be framed by
// nobody. It holds no secret, so whoever can connect may have it; what it shows it asks for with
// its reader's token.
//
// Threads: call before the server starts.
#pragma once

#include <string_view>

namespace httplib {
class Server;
}

namespace aqua::router {

void install_page(httplib::Server& server);
// Whether the path is one of the page's.
[[nodiscard]] bool is_of_page(std::string_view path);

}  // namespace aqua::router
