// SPDX-License-Identifier: Apache-2.0
// aqua-keeper: options in, a daemon until a signal, an exit status out.
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/concat.hpp"
#include "base/own_directory.hpp"
#include "base/try.hpp"
#include "tools/daemon/descriptor_limit.hpp"
#include "tools/daemon/notify.hpp"
#include "tools/keeper/ends_at_signal.hpp"
#include "tools/keeper/keeper.hpp"
#include "tools/options/command_line.hpp"

namespace {

constexpr std::size_t kLeastOfOneProcess = 4;  // connections: it may load and attach at once
constexpr std::uint64_t kLeastDisk = std::uint64_t{16} << 20, kMostDisk = std::uint64_t{1} << 48;
// Under the time that systemd gives a service to stop.
constexpr std::chrono::seconds kWritePatience{10};
constexpr std::size_t kSpareDescriptors = 64;  // of ours, and what arrives with a packet

aqua::CommandLine line_of(aqua::keeper::KeeperOptions& options) {
  aqua::CommandLine line("", R"(Usage: aqua-keeper [options]

Keeps memory for engines that come and go: weights are loaded once, and mapped by every
process that reads them; KV pools are shared by processes that hand requests over, and what
is gathered into segments outlives who gathered it, and with --disk the keeper as well. Serves
processes of its own user until SIGTERM; memory that is mapped then stays with those who map it.
docs/operate/keeper.md)");
  const std::uint64_t memory = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                               static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  options.segment_bytes = memory / 4;
  line.text("--socket", options.socket, "PATH",
            "default: keeper.sock in $XDG_RUNTIME_DIR/aqua, else in /tmp/aqua-UID")
      .number("--connections", options.connections, 4, 65536, "N", "publishers and readers at most")
      .number("--pools", options.pools, 1, 4096, "N", "KV pools at most")
      .number("--segment-bytes", options.segment_bytes, 0, memory, "N",
              "host memory for segments at most, half of it for one process")
      .text("--disk", options.disk, "DIR",
            "keeps committed segments in this directory as well, and has them after a restart")
      .number("--disk-quota", options.disk_quota, kLeastDisk, kMostDisk, "N",
              "bytes of its files at most; default: twice --segment-bytes");
  return line;
}

// Far below what packets can say, and with as good as no chance of an earlier keeper's numbers.
std::uint64_t draw_last_segment() {
  std::random_device random;
  return ((std::uint64_t{random()} << 32) | random()) >> 16;
}

aqua::Result<int> run(aqua::keeper::KeeperOptions options) {
  ::umask(S_IRWXG | S_IRWXO);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // memory or a file at its limit is an error to be told, not an end
  sigset_t signals;  // blocked before the first thread starts, so that only sigwait() gets them
  ::sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT}) ::sigaddset(&signals, number);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  if (options.socket.empty()) {
    const std::string directory = aqua::default_own_directory();
    AQUA_TRY(aqua::open_own_directory("socket directory", directory));
    options.socket = aqua::concat(directory, "/keeper.sock");
  }
  if (!options.disk.empty() && options.disk_quota == 0) {
    options.disk_quota = std::max(kLeastDisk, 2 * options.segment_bytes);
  }
  options.last_segment = draw_last_segment();
  options.of_one_process = std::max<std::size_t>(options.connections / 4, kLeastOfOneProcess);
  // A slab costs a descriptor, as a connection and a manifest do.
  (void)aqua::daemon::raise_descriptor_limit();
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    // A connection, and the event of who waits for a pool or for weights; a member's process, and
    // its event.
    const std::size_t taken =
        2 * (options.connections + options.members + options.segment_members) + kSpareDescriptors;
    const std::size_t left = std::max<std::size_t>(limit.rlim_cur, taken) - taken;
    options.most_slabs = std::min(options.most_slabs, left / 2);
    if (options.most_slabs == 0) {
      return aqua::Error{aqua::Code::resource_exhausted,
                         aqua::concat("RLIMIT_NOFILE is ", limit.rlim_cur, ": with ",
                                      options.connections, " connections none is left for slabs")};
    }
  }
  // Reading a large disk takes minutes, and changes nothing that a kill would spoil.
  AQUA_ASSIGN(auto start, aqua::keeper::EndsAtSignal::begin(signals));
  AQUA_ASSIGN(const auto keeper,
              aqua::keeper::Keeper::start(
                  options, aqua::keeper::sort_out(aqua::daemon::take_descriptors())));
  start.reset();
  std::printf("listening on %s\n", options.socket.c_str());
  std::fflush(stdout);
  if (const auto told = aqua::daemon::notify("READY=1", {}, std::chrono::seconds(2)); !told.ok()) {
    std::fprintf(stderr, "aqua-keeper: %s\n", told.error().message.c_str());
  }
  int signal = 0;
  while (::sigwait(&signals, &signal) != 0) continue;
  if (!keeper->wait_until_written(kWritePatience)) {
    std::fprintf(stderr, "aqua-keeper: disk: not all segments were written\n");
  }
  return 0;
}

int complain(const aqua::Error& error, int status) {
  std::fprintf(stderr, "aqua-keeper: %s\n", error.message.c_str());
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  aqua::keeper::KeeperOptions options;
  aqua::CommandLine line = line_of(options);
  if (aqua::asks_for_help(arguments)) {
    std::fputs(line.help().c_str(), stdout);
    return 0;
  }
  if (std::find(arguments.begin(), arguments.end(), "--version") != arguments.end()) {
    std::puts("aqua-keeper " AQUA_VERSION);
    return 0;
  }
  if (const auto parsed = line.parse(arguments); !parsed.ok()) return complain(parsed.error(), 2);
  if (options.disk.empty() && options.disk_quota != 0) {
    return complain({aqua::Code::invalid_argument, "--disk-quota without --disk"}, 2);
  }
  const auto ran = run(options);
  return ran.ok() ? *ran : complain(ran.error(), 1);
}
