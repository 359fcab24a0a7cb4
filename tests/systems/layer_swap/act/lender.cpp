// SPDX-License-Identifier: Apache-2.0
// Another process that lends memory until it is killed: its arguments are a coordinator, a socket
// directory and how many bytes. Answers one byte when they are offered.
#include <unistd.h>

#include <cstdlib>

#include "aqua/runtime.hpp"
#include "tests/base/spawned_peer.hpp"

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  auto runtime = aqua::Runtime::open({.device = "emu:0",
                                      .coordinator = argv[1],
                                      .name = "lender",
                                      .slab_bytes = std::size_t{4} << 20,
                                      .socket_directory = argv[2]});
  if (!runtime.ok() || !runtime->lend(std::strtoull(argv[3], nullptr, 10)).ok()) return 1;
  char byte = 'l';
  if (::write(aqua::test::kPeerSocket, &byte, 1) != 1) return 1;
  while (::read(aqua::test::kPeerSocket, &byte, 1) > 0) {
  }
  return 0;
}
