// SPDX-License-Identifier: Apache-2.0
// What two couriers are started with: certificates of a.test and b.test, and their configurations.
//
// Threads: one. Errors: exits the program, as must() does.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "harness.hpp"
#include "must.hpp"
#include "tools/courier/net/sockets.hpp"

namespace aqua::bench {

// PEM files of one server, and of the authority of both.
struct Certificates {
  std::string certificate, key, authority;
};

class CourierFiles {
 public:
  // By aqua-courier-certificates.
  explicit CourierFiles(const std::string& certificates)
      : made_(certificates, {"aqua-courier-certificates", "%/", "a.test", "b.test"}, "/tmp") {}

  // The files of courier "a" or "b": its certificate, its key and the authority.
  [[nodiscard]] Certificates identity(const std::string& name) const {
    const std::string base = made_.directory() + "/" + name + ".test";
    return {base + ".pem", base + ".key", made_.directory() + "/authority.pem"};
  }
  // A file with these files and the keeper's socket, and `what`.
  [[nodiscard]] std::string config(const std::string& name, const std::string& keeper,
                                   const nlohmann::json& what) const {
    const Certificates own = identity(name);
    nlohmann::json all{{"keeper", keeper},
                       {"certificate", own.certificate},
                       {"key", own.key},
                       {"authority", own.authority}};
    all.update(what);
    std::string path = made_.directory() + "/" + name + ".json";
    std::ofstream(path) << all;
    return path;
  }

 private:
  const ProgramInDirectory made_;  // has made them, and ended
};

// aqua-courier.
class CourierProcess : public ProgramInDirectory {
 public:
  CourierProcess(const std::string& binary, const std::string& config)
      : ProgramInDirectory(binary, {"aqua-courier", "--config", config}, "/tmp") {}
};

[[nodiscard]] inline int free_port() {
  const auto socket = must(courier::listen_at("127.0.0.1:0"));
  return courier::port_of(socket.get());
}

}  // namespace aqua::bench
