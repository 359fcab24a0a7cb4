// SPDX-License-Identifier: Apache-2.0
// What is known of a process that has died.
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <thread>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/socket/unix_socket.hpp"
#include "base/try.hpp"
#include "tests/base/spawned_peer.hpp"
#include "tests/gpu/first_contact/check.hpp"
#include "tests/gpu/first_contact/gpu.hpp"

namespace aqua::first_contact {
namespace {

constexpr std::chrono::seconds kPatience{10};
constexpr std::array<std::byte, 1> kWord{std::byte{1}};
constexpr int kCopies = 512;                      // 256 MiB each: some 90 ms of an H100
constexpr std::chrono::milliseconds kLater{300};  // longer than all of them take

// Kills a process, which is dead then by its pidfd; it stays a zombie, as a child of the engine's
// own would.
Result<void> kill_unreaped(pid_t pid) {
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!pidfd.valid()) return errno_error("pidfd_open");
  ::kill(pid, SIGKILL);
  pollfd dead{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  if (::poll(&dead, 1, 10'000) != 1)
    return Error{Code::deadline_exceeded, "its pidfd is silent 10 s after SIGKILL"};
  return {};
}

// Returns when nobody has the other end of the socket.
void wait_for_close() {
  while (!peer_has_closed(test::kPeerSocket)) {
    pollfd closed{.fd = test::kPeerSocket, .events = POLLIN, .revents = 0};
    (void)::poll(&closed, 1, -1);
  }
}

}  // namespace

Result<void> be_victim(const Gpu& gpu) {
  AQUA_ASSIGN(Message message, receive_message(test::kPeerSocket, 1, kPatience));
  if (message.fds.size() != 1) return Error{Code::not_found, "no slab came"};
  AQUA_ASSIGN(const Handle handle, gpu.import(message.fds[0].release()));
  AQUA_ASSIGN(const CUdeviceptr slab, gpu.map({handle}, gpu.large()));
  AQUA_ASSIGN(const CUdeviceptr ours, gpu.allocate(gpu.large()));
  AQUA_ASSIGN(const CUstream stream, gpu.stream());
  AQUA_TRY(gpu.write(ours, std::vector<std::byte>(gpu.large(), std::byte{0x5a})));
  for (int i = 0; i < kCopies; ++i) {
    AQUA_TRY(gpu.done(gpu.cuda().MemcpyAsync(slab, ours, gpu.large(), stream), "cuMemcpyAsync"));
  }
  // The child shares every file of the driver's. It touches none, and outlives us.
  if (::fork() == 0) {
    wait_for_close();
    std::_Exit(0);
  }
  AQUA_TRY(send_message(test::kPeerSocket, kWord, {}, kPatience));
  wait_for_close();  // until it is killed, or who would have done so is gone
  return {};
}

Result<Answer> forked_child(const Gpu& gpu) {
  AQUA_ASSIGN(const Handle handle, gpu.create(gpu.large()));
  AQUA_ASSIGN(const CUdeviceptr slab, gpu.map({handle}, gpu.large()));
  AQUA_ASSIGN(const int fd, gpu.export_fd(handle));
  const UniqueFd exported(fd);
  // It queues work in our slab, and has a child that shares its driver's files, and ends when the
  // socket closes.
  AQUA_ASSIGN(auto victim, test::SpawnedPeer::spawn({"/proc/self/exe", "--peer", "victim", "--mib",
                                                     std::to_string(gpu.large() >> 20)}));
  const std::array<int, 1> fds{fd};
  AQUA_TRY(send_message(victim.socket(), kWord, fds, kPatience));
  AQUA_TRY(receive_message(victim.socket(), 1, kPatience));  // it is at work
  AQUA_TRY(kill_unreaped(victim.pid()));
  // What the lender did: the holder is dead, so the slab is scrubbed and somebody else's.
  AQUA_ASSIGN(const CUstream stream, gpu.stream());
  AQUA_TRY(gpu.done(gpu.cuda().MemsetD8Async(slab, 0, gpu.large(), stream), "cuMemsetD8Async"));
  AQUA_TRY(gpu.wait(stream));
  const auto wrong = [&]() -> Result<std::size_t> {
    AQUA_ASSIGN(const auto seen, gpu.read(slab, gpu.large()));
    return static_cast<std::size_t>(
        std::ranges::count_if(seen, [](std::byte b) { return b != std::byte{0}; }));
  };
  AQUA_ASSIGN(const std::size_t at_once, wrong());
  std::this_thread::sleep_for(kLater);  // what is still queued tells nobody when it has run
  AQUA_ASSIGN(const std::size_t later, wrong());
  return Answer{.yes = at_once == 0 && later == 0,
                .detail = concat("of ", gpu.large(), " bytes scrubbed, written afterwards: ",
                                 at_once, " at once, ", later, " after ", kLater.count(), " ms"),
                .figures = {{"bytes_at_once", at_once}, {"bytes_later", later}}};
}

Result<Answer> pidfds(const Gpu&) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return errno_error("socketpair");
  const UniqueFd one(ends[0]), other(ends[1]);
  constexpr int kPeerPidfd = 77;  // SO_PEERPIDFD, Linux 6.5
  int pidfd = -1;
  socklen_t size = sizeof pidfd;
  const bool by_socket = ::getsockopt(one.get(), SOL_SOCKET, kPeerPidfd, &pidfd, &size) == 0;
  const UniqueFd of_socket(pidfd);
  const UniqueFd of_pid(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  utsname kernel{};
  (void)::uname(&kernel);
  return Answer{
      .yes = of_pid.valid(),
      .detail = concat("SO_PEERPIDFD: ", by_socket ? "yes" : "no", ", pidfd_open: ",
                       of_pid.valid() ? "yes" : "no", ", kernel ", kernel.release),
      .figures = {
          {"so_peerpidfd", by_socket}, {"pidfd_open", of_pid.valid()}, {"kernel", kernel.release}}};
}

}  // namespace aqua::first_contact
