// reclaim_bench [--mib N] [--rounds N] [--coordinator-binary PATH] [--json FILE]
//
// Reclaims N MiB (default 1024) from a live consumer in another process: from the call to
// the last slab scrubbed and usable, and to the first. The consumer's slabs are full of
// stamped tensors, which it checks afterwards. Beside it, in the same run, each part alone:
// copying as many bytes from device to host memory, unmapping as many slabs, scrubbing
// them. Reported: medians, spread, and
//
//   ratio = (reclaim - 20 ms) / (copy + unmap + scrub)      goal: at most 1.2
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/runtime.hpp"
#include "device/memfd_device.hpp"
#include "harness.hpp"
#include "samples.hpp"

namespace {

using namespace aqua::literals;
using aqua::Stream;
using aqua::bench::must;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kSlabBytes = 64_MiB;
constexpr std::size_t kTensorBytes = 4_MiB;

struct Options {
  std::size_t mib = 1024;
  unsigned rounds = 5;
  std::string coordinator = "./aqua-coordinator";
  std::string json{};
};

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// --- the consumer's process: one letter in, one out -------------------------------------

std::uint64_t word_of(std::size_t tensor, std::size_t i) {
  return tensor * 0x9e3779b97f4a7c15u + i;
}

void stamp(aqua::Runtime& runtime, aqua::AquaTensor& tensor, std::size_t number) {
  auto pin = must(tensor.pin(aqua::Access::write, Stream{}), "pin");
  must(aqua::emulated::launch(runtime, Stream{},
                              [p = pin.data(), n = pin.bytes(), number] {
                                std::byte* const view = aqua::emulated::kernel_view(p);
                                for (std::size_t i = 0; i < n; i += 8) {
                                  const std::uint64_t word = word_of(number, i);
                                  std::memcpy(view + i, &word, 8);
                                }
                              }),
       "stamp");
}

std::size_t check(aqua::Runtime& runtime, aqua::AquaTensor& tensor, std::size_t number) {
  auto wrong = std::make_shared<std::size_t>(0);
  auto pin = must(tensor.pin(aqua::Access::read, Stream{}), "pin");
  must(aqua::emulated::launch(runtime, Stream{},
                              [p = pin.data(), n = pin.bytes(), number, wrong] {
                                const std::byte* const view =
                                    aqua::emulated::kernel_view(static_cast<const std::byte*>(p));
                                for (std::size_t i = 0; i < n; i += 8) {
                                  const std::uint64_t word = word_of(number, i);
                                  *wrong += std::memcmp(view + i, &word, 8) != 0;
                                }
                              }),
       "check");
  pin.release();
  must(aqua::emulated::synchronize(runtime, Stream{}), "synchronize");
  return *wrong;
}

[[noreturn]] void run_consumer(const Options& options, const aqua::bench::Coordinator& coordinator,
                               int in, int out) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::size_t bytes = options.mib << 20;
  auto runtime = must(aqua::Runtime::open({.device = "emu:1",
                                           .coordinator = coordinator.address(),
                                           .name = "consumer",
                                           .host_bytes = bytes + 64_MiB,
                                           .max_peer_bytes = bytes,
                                           .slab_bytes = kSlabBytes,
                                           .socket_directory = coordinator.directory()}),
                      "open consumer");
  std::vector<aqua::AquaTensor> tensors;
  for (char command = 0; ::read(in, &command, 1) == 1 && command != 'q';) {
    if (command == 'f') {  // fill what is leased, once all of it is
      while (runtime->status().peer.capacity_bytes < bytes) ::poll(nullptr, 0, 1);
      for (std::size_t i = tensors.size(); i < bytes / kTensorBytes; ++i) {
        tensors.push_back(
            must(runtime->allocate({.bytes = kTensorBytes, .name = "t"}), "allocate"));
        stamp(*runtime, tensors.back(), i);
      }
      while (runtime->status().peer.tensor_bytes < bytes) ::poll(nullptr, 0, 1);  // promoted again
      must(aqua::emulated::synchronize(*runtime, Stream{}), "synchronize");
    } else {  // check every byte
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < tensors.size(); ++i) wrong += check(*runtime, tensors[i], i);
      if (wrong != 0) command = '!';
    }
    if (::write(out, &command, 1) != 1) break;
  }
  tensors.clear();
  runtime.reset();
  std::_Exit(0);
}

// --- the parts alone ---------------------------------------------------------------------

struct Parts {
  std::vector<double> copy, unmap, scrub;
};

Parts measure_parts(std::size_t bytes, unsigned rounds) {
  auto gpu = must(aqua::device::open_emulated({.ordinal = 9, .total_bytes = bytes}), "device");
  auto host = must(aqua::device::open_host({.total_bytes = bytes}), "host");
  auto event = must(gpu->create_event(), "event");
  auto range = must(gpu->reserve(bytes), "reserve");
  auto home = must(host->reserve(bytes), "reserve");
  std::vector<std::unique_ptr<aqua::device::Slab>> slabs;
  for (std::size_t offset = 0; offset < bytes; offset += kSlabBytes) {
    slabs.push_back(must(gpu->create_slab(kSlabBytes), "slab"));
    must(gpu->map(*range, offset, *slabs.back()), "map");
    const auto slab = must(host->create_slab(kSlabBytes), "host slab");
    must(host->map(*home, offset, *slab), "map");
  }
  const auto finish = [&](Clock::time_point start) {
    must(gpu->record(*event, Stream{}), "record");
    must(gpu->synchronize(*event), "synchronize");
    return ms_since(start);
  };
  Parts parts;
  for (unsigned round = 0; round <= rounds; ++round) {  // the first one warms up
    auto start = Clock::now();
    must(gpu->scrub(range->base(), bytes, Stream{}), "scrub");
    const double scrub = finish(start);
    start = Clock::now();
    using Segments = std::vector<aqua::device::CopySegment>;
    must(gpu->copy(std::make_shared<const Segments>(Segments{{home->base(), range->base(), bytes}}),
                   Stream{}),
         "copy");
    const double copy = finish(start);
    start = Clock::now();
    for (std::size_t offset = 0; offset < bytes; offset += kSlabBytes) {
      must(gpu->unmap(*range, offset, kSlabBytes), "unmap");
    }
    const double unmap = ms_since(start);
    for (std::size_t i = 0; i < slabs.size(); ++i)
      must(gpu->map(*range, i * kSlabBytes, *slabs[i]), "map");
    if (round == 0) continue;
    parts.scrub.push_back(scrub);
    parts.copy.push_back(copy);
    parts.unmap.push_back(unmap);
  }
  return parts;
}

nlohmann::json summary(const std::vector<double>& ms) {
  return {{"median_ms", aqua::bench::median(ms)},
          {"min_ms", aqua::bench::quantile(ms, 0)},
          {"max_ms", aqua::bench::quantile(ms, 1)},
          {"samples", ms.size()}};
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--mib")
      options.mib = std::strtoul(argv[i + 1], nullptr, 10);
    else if (name == "--rounds")
      options.rounds = static_cast<unsigned>(std::strtoul(argv[i + 1], nullptr, 10));
    else if (name == "--coordinator-binary")
      options.coordinator = argv[i + 1];
    else if (name == "--json")
      options.json = argv[i + 1];
    else
      argc = 0;
  }
  if (argc % 2 == 0 || options.mib < 64 || options.mib % 64 != 0 || options.rounds == 0) {
    std::fprintf(stderr,
                 "usage: reclaim_bench [--mib N (a multiple of 64)] [--rounds N] "
                 "[--coordinator-binary PATH] [--json FILE]\n");
    std::exit(2);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  const std::size_t bytes = options.mib << 20;
  const aqua::bench::Coordinator coordinator(options.coordinator);
  int to_child[2];
  int from_child[2];
  if (::pipe2(to_child, O_CLOEXEC) != 0 || ::pipe2(from_child, O_CLOEXEC) != 0) return 1;
  const pid_t consumer = ::fork();  // before this process has any thread
  if (consumer == 0) run_consumer(options, coordinator, to_child[0], from_child[1]);
  const auto ask = [&](char command) {
    char answer = 0;
    if (::write(to_child[1], &command, 1) != 1 || ::read(from_child[0], &answer, 1) != 1 ||
        answer != command) {
      std::fprintf(stderr, "reclaim_bench: the consumer %s\n",
                   answer == '!' ? "found changed bytes" : "has failed");
      std::exit(1);
    }
  };

  const Parts parts = measure_parts(bytes, options.rounds);
  std::vector<double> total;
  std::vector<double> first;
  {
    auto producer = must(aqua::Runtime::open({.device = "emu:0",
                                              .coordinator = coordinator.address(),
                                              .name = "producer",
                                              .host_bytes = 2_MiB,
                                              .slab_bytes = kSlabBytes,
                                              .socket_directory = coordinator.directory(),
                                              .emulated = {.total_bytes = bytes}}),
                         "open producer");
    for (unsigned round = 0; round <= options.rounds; ++round) {
      must(producer->lend(bytes), "lend");
      ask('f');
      const auto reclaim = must(producer->reclaim(bytes, std::chrono::seconds(60)), "reclaim");
      const auto outcome = must(reclaim.wait(), "wait");
      ask('c');
      if (round == 0) continue;  // warms up
      total.push_back(static_cast<double>(outcome.last_slab.count()) / 1000);
      first.push_back(static_cast<double>(outcome.first_slab.count()) / 1000);
      std::printf("round %u: first slab %.1f ms, all %.1f ms\n", round, first.back(), total.back());
    }
  }
  ask('c');
  if (::write(to_child[1], "q", 1) == 1) ::waitpid(consumer, nullptr, 0);

  const double alone = aqua::bench::median(parts.copy) + aqua::bench::median(parts.unmap) +
                       aqua::bench::median(parts.scrub);
  const nlohmann::json report{{"benchmark", "reclaim"},
                              {"device", "emulated"},
                              {"mib", options.mib},
                              {"slab_mib", kSlabBytes >> 20},
                              {"verified", true},
                              {"reclaim", summary(total)},
                              {"first_slab", summary(first)},
                              {"copy_alone", summary(parts.copy)},
                              {"unmap_alone", summary(parts.unmap)},
                              {"scrub_alone", summary(parts.scrub)},
                              {"ratio", (aqua::bench::median(total) - 20) / alone},
                              {"goal_ratio", 1.2},
                              {"goal_first_slab_ms", 30}};
  std::printf("%s\n", report.dump(2).c_str());
  if (!options.json.empty()) std::ofstream(options.json) << report.dump(2) << '\n';
  return 0;
}
