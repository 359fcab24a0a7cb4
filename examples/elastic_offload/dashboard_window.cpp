// SPDX-License-Identifier: Apache-2.0
#include "dashboard_window.hpp"

#include <httplib.h>

#include <string>
#include <thread>

#include "must.hpp"

namespace aqua::example {

struct DashboardWindow::Impl {
  httplib::Server server;
  std::thread thread;
  ~Impl() {
    server.stop();
    if (thread.joinable()) thread.join();
  }
};

namespace {

void pass_on(const std::string& coordinator, const httplib::Request& asked,
             httplib::Response& reply) {
  httplib::Client client(coordinator);
  client.set_address_family(AF_UNIX);
  // By these the coordinator tells its own page from others'.
  httplib::Headers headers;
  for (const char* name : {"Host", "Origin", "Sec-Fetch-Site"}) {
    if (asked.has_header(name)) headers.emplace(name, asked.get_header_value(name));
  }
  const auto answer = client.Get(asked.target, headers);
  if (!answer) {
    reply.status = 502;
    return;
  }
  reply.status = answer->status;
  for (const auto& [name, value] : answer->headers) {
    const bool kept = name == "Content-Security-Policy" || name == "Cache-Control";
    if (kept) reply.set_header(name, value);
  }
  reply.set_content(answer->body, answer->get_header_value("Content-Type"));
}

}  // namespace

DashboardWindow::DashboardWindow(std::uint16_t port, const std::filesystem::path& coordinator)
    : impl_(std::make_unique<Impl>()) {
  impl_->server.Get(".*", [path = coordinator.string()](const auto& asked, auto& reply) {
    pass_on(path, asked, reply);
  });
  // The library's own options would let two processes share the port.
  impl_->server.set_socket_options([](int) {});
  if (!impl_->server.bind_to_port("127.0.0.1", port))
    throw Failure("--dashboard: port " + std::to_string(port) + " of 127.0.0.1 is not free");
  impl_->thread = std::thread([this] { impl_->server.listen_after_bind(); });
  // An answer shows that it serves; stop() does nothing before that.
  const auto page = httplib::Client("127.0.0.1", port).Get("/");
  if (!page || page->status != 200) {
    impl_.reset();
    throw Failure("--dashboard: the coordinator shows none");
  }
}

DashboardWindow::~DashboardWindow() = default;

}  // namespace aqua::example
