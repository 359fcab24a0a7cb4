// SPDX-License-Identifier: Apache-2.0
// What TLS alone moves: OpenSSL over loopback sockets, a loop that writes in one process and one
// that reads in another, and nothing around them.
#pragma once

#include <cstdint>
#include <string>

#include "courier_files.hpp"
#include "forked_process.hpp"

namespace aqua::bench {

class BareTls {
 public:
  // Forks a process that reads whatever comes to `port`.
  BareTls(const Certificates& reader, const Certificates& writer, int port)
      : writer_(writer),
        port_(port),
        reads_([=](int in, int /*out*/) { read_all(reader, port, in); }) {}

  // Bytes a second over so many connections at once, each of which moves so many bytes.
  [[nodiscard]] double measure(unsigned connections, std::uint64_t bytes) const;

 private:
  // Until `in` ends.
  static void read_all(const Certificates& identity, int port, int in);

  const Certificates writer_;
  const int port_;
  ForkedProcess reads_;
};

}  // namespace aqua::bench
