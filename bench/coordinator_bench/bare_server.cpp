// SPDX-License-Identifier: Apache-2.0
#include "coordinator_bench/bare_server.hpp"

#include <httplib.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace aqua::bench {
namespace {

class Bare : public httplib::Server {
 public:
  // The library's own queue is of five connections, where the coordinator's is the system's:
  // that is no difference to measure.
  void widen_queue() { ::listen(svr_sock_, SOMAXCONN); }
};

[[noreturn]] void serve(const std::string& path, const std::map<std::string, std::string>& answers,
                        int ready) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGPIPE, SIG_IGN);
  Bare server;
  for (const auto& [target, text] : answers) {
    server.Post(target, [&text](const httplib::Request&, httplib::Response& response) {
      response.set_content(text, "application/json");
    });
  }
  server.set_address_family(AF_UNIX);
  if (!server.bind_to_port(path, 80)) std::_Exit((std::perror(path.c_str()), 1));
  server.widen_queue();
  if (::write(ready, "!", 1) != 1) std::_Exit(1);
  server.listen_after_bind();
  std::_Exit(0);
}

}  // namespace

BareServer::BareServer(const std::string& directory,
                       const std::map<std::string, std::string>& answers) {
  const std::string path = directory + "/bare.sock";
  int ready[2];
  if (::pipe(ready) != 0) std::exit((std::perror("pipe"), 1));
  server_.pid = ::fork();
  if (server_.pid == 0) serve(path, answers, ready[1]);
  ::close(ready[1]);
  char byte = 0;
  if (::read(ready[0], &byte, 1) != 1) std::exit((std::perror("the bare server"), 1));
  ::close(ready[0]);
  server_.address = wire::socket_address({.path = path, .host = {}, .port = 0});
}

BareServer::~BareServer() {
  ::kill(server_.pid, SIGKILL);
  ::waitpid(server_.pid, nullptr, 0);
}

}  // namespace aqua::bench
