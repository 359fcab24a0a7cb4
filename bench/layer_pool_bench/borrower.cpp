// SPDX-License-Identifier: Apache-2.0
#include "layer_pool_bench/borrower.hpp"

#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/runtime.hpp"
#include "layer_pool_bench/shape.hpp"
#include "must.hpp"

namespace aqua::bench {
namespace {

// The tensors of one slab each, word i of tensor t with the value t * kFactor + i.
class Holder {
 public:
  Holder(const Coordinator& coordinator, std::size_t bytes)
      : runtime_(must(Runtime::open({.device = "emu:1",
                                     .coordinator = coordinator.address(),
                                     .name = "borrower",
                                     .host_bytes = bytes + (std::size_t{64} << 20),
                                     .max_peer_bytes = bytes,
                                     .socket_directory = coordinator.directory(),
                                     .curve_directory = "off",
                                     .emulated = {.total_bytes = std::size_t{16} << 20}}),
                      "open borrower")) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (runtime_.status().peer.capacity_bytes < bytes) {
      if (std::chrono::steady_clock::now() > deadline) {
        std::fprintf(stderr, "layer_pool_bench: the borrower waited 60 s for %zu bytes: %s\n",
                     bytes, runtime_.status().not_borrowing.c_str());
        std::_Exit(1);
      }
      ::poll(nullptr, 0, 1);
    }
    for (std::size_t t = 0; t < bytes / kSlabBytes; ++t) {
      tensors_.push_back(must(runtime_.allocate({.bytes = kSlabBytes}), "allocate"));
      visit(t, Access::write, [](std::byte* at, std::uint64_t word) {
        std::memcpy(at, &word, sizeof word);
        return true;
      });
    }
  }
  // Bytes of the tensors that lie in lent memory.
  [[nodiscard]] std::size_t lent_bytes() const {
    std::size_t bytes = 0;
    for (const AquaTensor& tensor : tensors_)
      bytes += tensor.tier() == Tier::peer ? tensor.bytes() : 0;
    return bytes;
  }
  [[nodiscard]] bool whole() {
    bool same = true;
    for (std::size_t t = 0; t < tensors_.size(); ++t) {
      same = visit(t, Access::read,
                   [](const std::byte* at, std::uint64_t word) {
                     return std::memcmp(at, &word, sizeof word) == 0;
                   }) &&
             same;
    }
    return same;
  }

 private:
  // Every word, on the device; whether `each` was true of all.
  template <typename Each>
  bool visit(std::size_t number, Access access, const Each& each) {
    constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15u;
    const Pin pin = must(tensors_[number].pin(access, Stream{}), "pin");
    bool all = true;
    must(emulated::launch(runtime_, Stream{},
                          [&, base = pin.data(), words = pin.bytes() / sizeof kFactor] {
                            std::byte* const at = emulated::kernel_view(base);
                            for (std::size_t i = 0; i < words; ++i)
                              all = each(at + i * sizeof kFactor, number * kFactor + i) && all;
                          }),
         "launch");
    must(emulated::synchronize(runtime_, Stream{}), "synchronize");
    return all;
  }

  Runtime runtime_;
  std::vector<AquaTensor> tensors_;
};

}  // namespace

void BorrowerProcess::serve(const Coordinator& coordinator, int in, int out) {
  std::unique_ptr<Holder> holder;
  for (Message message; ::read(in, &message, sizeof message) == sizeof message;) {
    if (message.command == 'b') {
      holder.reset();
      holder = std::make_unique<Holder>(coordinator, message.bytes);
    } else if (!holder || !holder->whole()) {
      message.command = '!';
    }
    message.bytes = holder ? holder->lent_bytes() : 0;
    if (::write(out, &message, sizeof message) != sizeof message) break;
  }
}

BorrowerProcess::BorrowerProcess(const Coordinator& coordinator)
    : process_([&](int in, int out) { serve(coordinator, in, out); }) {}

std::size_t BorrowerProcess::ask(char command, std::size_t bytes) {
  Message message{command, bytes};
  if (process_.send(message) && process_.receive(message) && message.command == command)
    return message.bytes;
  std::fprintf(stderr, "layer_pool_bench: the borrower %s\n",
               message.command == '!' ? "found changed bytes" : "has failed");
  std::_Exit(1);  // with threads of the runtime's still there
}

}  // namespace aqua::bench
