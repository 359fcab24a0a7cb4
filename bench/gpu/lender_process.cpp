// SPDX-License-Identifier: Apache-2.0
#include "gpu/lender_process.hpp"

#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/socket/unix_socket.hpp"
#include "device/cuda/device.hpp"
#include "gpu/cuda_objects.hpp"

namespace aqua::bench {
namespace {

constexpr int kLenderSocket = 3;
constexpr std::chrono::seconds kPatience{60};
constexpr std::array<std::byte, 1> kHello{std::byte{1}};

}  // namespace

LenderProcess::LenderProcess(device::Device& device, std::size_t bytes) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) std::exit(1);
  socket_ = UniqueFd(ends[0]);
  const UniqueFd theirs(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  // Onto itself, dup2 would leave close-on-exec set: never so, 3 being taken by then.
  ::posix_spawn_file_actions_adddup2(&actions, theirs.get(), kLenderSocket);
  std::string size = std::to_string(bytes);
  std::string program = "gpu_bench";
  std::string option = "--lend";
  char* arguments[] = {program.data(), option.data(), size.data(), nullptr};
  const int spawned = ::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (spawned != 0) {
    std::fprintf(stderr, "gpu_bench: cannot start the lender\n");
    std::exit(1);
  }
  Message message = must(receive_message(socket_.get(), 16, kPatience));
  if (message.fds.size() != 1) {
    std::fprintf(stderr, "gpu_bench: the lender has sent no slab\n");
    std::exit(1);
  }
  slab_ = must(device.import_slab(std::move(message.fds.front()), bytes));
  range_ = must(device.reserve(bytes));
  must(device.map(*range_, 0, *slab_));
}

LenderProcess::~LenderProcess() {
  range_.reset();
  slab_.reset();
  socket_.reset();
  ::waitpid(pid_, nullptr, 0);
}

int lend(std::size_t bytes) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto device = must(device::open_cuda({}));
  const auto slab = must(device->create_slab(bytes));
  const UniqueFd exported = must(device->export_slab(*slab));
  const std::array<int, 1> fds{exported.get()};
  must(send_message(kLenderSocket, kHello, fds, kPatience));
  while (!peer_has_closed(kLenderSocket)) ::usleep(10'000);
  return 0;
}

}  // namespace aqua::bench
