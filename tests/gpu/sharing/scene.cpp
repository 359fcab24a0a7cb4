// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/sharing/scene.hpp"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <utility>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/socket/unix_socket.hpp"
#include "base/try.hpp"
#include "tests/gpu/first_contact/gpu.hpp"
#include "tests/gpu/sharing/roles.hpp"

namespace aqua::sharing_contact {
namespace {

constexpr std::chrono::seconds kPeerPatience{30};
constexpr std::string_view kBecomeKeeper = "keeper ";  // and its socket
constexpr std::string_view kNoGpu = "no GPU: ";        // the first word of a peer without one

// This process becomes it, and dies with the check that asked for it, also where that is killed.
// Its first line, which says that it listens, goes to who asked.
[[noreturn]] void become_keeper(const std::string& socket) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::dup2(test::kPeerSocket, STDOUT_FILENO) < 0) std::_Exit(127);
  ::close(test::kPeerSocket);
  ::execl(AQUA_KEEPER_PROGRAM, AQUA_KEEPER_PROGRAM, "--socket", socket.c_str(), nullptr);
  std::_Exit(127);
}

}  // namespace

Result<Keeper> Keeper::start() {
  std::string directory = "/tmp/aqua-gpu-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) return errno_error("mkdtemp");
  const std::string socket = directory + "/keeper.sock";
  AQUA_ASSIGN(auto process, test::SpawnedPeer::spawn(
                                {"/proc/self/exe", "--peer", concat(kBecomeKeeper, socket)}));
  ::setenv("AQUA_KEEPER", socket.c_str(), 1);
  Keeper keeper(std::move(directory), std::move(process));
  const auto line = receive_message(keeper.process_.socket(), 4096, kPeerPatience);
  if (!line.ok() || line->bytes.empty())
    return Error{Code::unavailable, concat(AQUA_KEEPER_PROGRAM, " does not listen")};
  return keeper;
}

Keeper::Keeper(std::string directory, test::SpawnedPeer process)
    : directory_(std::move(directory)), process_(std::move(process)) {}

Keeper::~Keeper() {
  if (process_.pid() <= 0) return;  // moved from
  (void)process_.kill();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

bool Keeper::has_driver() const {
  std::ifstream maps(concat("/proc/", process_.pid(), "/maps"));
  for (std::string line; std::getline(maps, line);)
    if (line.find("libcuda") != line.npos) return true;
  return false;
}

std::string Keeper::device_files() const {
  std::map<std::string, int> counts;
  std::error_code failed;
  const std::filesystem::directory_iterator files(concat("/proc/", process_.pid(), "/fd"), failed);
  for (const auto& file : files) {
    const std::string target = std::filesystem::read_symlink(file.path(), failed).string();
    if (target.starts_with("/dev/nvidia")) ++counts[target];
  }
  std::string text;
  for (const auto& [name, count] : counts)
    text += concat(text.empty() ? "" : ", ", name, " x ", count);
  return text.empty() ? "none by name" : text;
}

Result<Other> Other::start(std::string_view role, std::string& first_word) {
  AQUA_ASSIGN(auto process,
              test::SpawnedPeer::spawn({"/proc/self/exe", "--peer", std::string(role)}));
  Other other(std::move(process));
  first_word = other.hear();
  if (first_word.starts_with(kNoGpu))
    return Error{Code::unimplemented, first_word.substr(kNoGpu.size())};
  return other;
}

Result<Other> Other::start(std::string_view role) {
  std::string word;
  AQUA_ASSIGN(Other other, start(role, word));
  if (word == "ok") return other;
  return Error{Code::internal, concat(role, ": ", word.empty() ? "died" : word)};
}

std::string Other::ask(std::string_view words) {
  (void)send_message(process_.socket(), std::as_bytes(std::span(words)), {}, kPeerPatience);
  return hear();
}

std::string Other::hear() {
  const auto message = receive_message(process_.socket(), 4096, kPeerPatience);
  if (!message.ok()) return message.error().code == Code::deadline_exceeded ? "is silent" : "";
  return {reinterpret_cast<const char*>(message->bytes.data()), message->bytes.size()};
}

Result<void> Other::ended() {
  const int status = process_.wait();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return Error{Code::internal, concat("another process ended with status ", status)};
}

Result<void> publish_and_end(unsigned version) {
  AQUA_ASSIGN(Other publisher, Other::start(concat("publisher ", version)));
  return publisher.ended();
}

int be_peer(std::string_view role, std::size_t mib) {
  if (role.starts_with(kBecomeKeeper))
    become_keeper(std::string(role.substr(kBecomeKeeper.size())));
  const auto tell = [](std::string_view word) {
    return send_message(test::kPeerSocket, std::as_bytes(std::span(word)), {}, kPeerPatience).ok();
  };
  const auto gpu = first_contact::Gpu::open(mib);
  if (!gpu.ok()) {
    (void)tell(concat(gpu.error().code == Code::unavailable ? kNoGpu : "", gpu.error().message));
    return 77;
  }
  return play(role, **gpu, tell) ? 0 : 1;
}

}  // namespace aqua::sharing_contact
