// SPDX-License-Identifier: Apache-2.0
#include "reclaim_bench/consumer.hpp"

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "aqua/runtime.hpp"
#include "base/internals.hpp"
#include "runtime/impl.hpp"

namespace aqua::bench {
namespace {

constexpr std::size_t kTensorBytes = 4_MiB;

std::vector<std::uint64_t> words_of(std::size_t tensor, std::size_t bytes) {
  std::vector<std::uint64_t> words(bytes / sizeof(std::uint64_t));
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = tensor * 0x9e3779b97f4a7c15u + i * sizeof(std::uint64_t);
  return words;
}

// In stream order, and waited for: host memory is one of the ends.
void copy(Runtime& runtime, void* dst, const void* src, std::size_t bytes) {
  using Segments = std::vector<device::CopySegment>;
  auto one = std::make_shared<const Segments>(
      Segments{{static_cast<std::byte*>(dst), static_cast<const std::byte*>(src), bytes}});
  device::Device& device = detail::Internals::impl(runtime).device();
  must(device.copy(std::move(one), Stream{}), "copy");
  must(device.synchronize(Stream{}), "synchronize");
}

void stamp(Runtime& runtime, AquaTensor& tensor, std::size_t number) {
  auto pin = must(tensor.pin(Access::write, Stream{}), "pin");
  copy(runtime, pin.data(), words_of(number, pin.bytes()).data(), pin.bytes());
}

// Whether every byte is as it was stamped.
bool whole(Runtime& runtime, AquaTensor& tensor, std::size_t number) {
  auto pin = must(tensor.pin(Access::read, Stream{}), "pin");
  std::vector<std::uint64_t> seen(pin.bytes() / sizeof(std::uint64_t));
  copy(runtime, seen.data(), pin.data(), pin.bytes());
  return seen == words_of(number, pin.bytes());
}

// Until `reached()`, or the program ends after a minute with what the runtime last said of it.
template <typename Reached>
void wait_for(const char* what, const Runtime& runtime, Reached reached) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!reached()) {
    if (std::chrono::steady_clock::now() > deadline) {
      const RuntimeStatus status = runtime.status();
      std::fprintf(stderr,
                   "reclaim_bench: the consumer waited 60 s %s: %zu bytes leased, %zu of "
                   "them in use; last error: %s\n",
                   what, status.peer.capacity_bytes, status.peer.tensor_bytes,
                   status.last_error.empty() ? "none" : status.last_error.c_str());
      std::_Exit(1);  // with threads of the runtime's still there
    }
    ::poll(nullptr, 0, 1);
  }
}

// One letter in, one out; after an `r` the counts as well.
void serve(const ReclaimOptions& options, const Coordinator& coordinator, int in, int out) {
  auto runtime = must(Runtime::open({.device = options.consumer,
                                     .coordinator = coordinator.address(),
                                     .name = "consumer",
                                     .host_bytes = options.bytes() + 64_MiB,
                                     .max_peer_bytes = options.bytes(),
                                     .slab_bytes = kSlabBytes,
                                     .socket_directory = coordinator.directory(),
                                     .curve_directory = "off"}),
                      "open consumer");
  const auto peer = [&] { return runtime.status().peer; };
  const auto counts = [&] { return detail::Internals::impl(runtime).device().copy_counts(); };
  std::vector<AquaTensor> tensors;
  device::CopyCounts filled, ran;
  for (char command = 0; ::read(in, &command, 1) == 1;) {
    if (command == 'f') {  // fill what is leased, once all of it is
      wait_for("for leases", runtime, [&] { return peer().capacity_bytes >= options.bytes(); });
      for (std::size_t i = tensors.size(); i < options.bytes() / kTensorBytes; ++i) {
        tensors.push_back(must(runtime.allocate({.bytes = kTensorBytes, .name = "t"}), "allocate"));
        stamp(runtime, tensors.back(), i);
      }
      wait_for("for tensors to be promoted again", runtime,
               [&] { return peer().tensor_bytes >= options.bytes(); });
      filled = counts();
    } else if (command != 'r') {
      ran = counts().since(filled);
      for (std::size_t i = 0; i < tensors.size(); ++i)
        if (!whole(runtime, tensors[i], i)) command = '!';
    }
    if (::write(out, &command, 1) != 1) break;
    if (command == 'r' && ::write(out, &ran, sizeof ran) != sizeof ran) break;
  }
}

}  // namespace

ConsumerProcess::ConsumerProcess(const ReclaimOptions& options, const Coordinator& coordinator)
    : process_([&](int in, int out) { serve(options, coordinator, in, out); }) {}

device::CopyCounts ConsumerProcess::ran() {
  device::CopyCounts ran;
  ask('r');
  if (!process_.receive(ran)) std::exit((std::perror("read"), 1));
  return ran;
}

void ConsumerProcess::ask(char command) {
  char answer = 0;
  if (process_.send(command) && process_.receive(answer) && answer == command) return;
  std::fprintf(stderr, "reclaim_bench: the consumer %s\n",
               answer == '!' ? "found changed bytes" : "has failed");
  std::exit(1);
}

}  // namespace aqua::bench
