// SPDX-License-Identifier: Apache-2.0
// fleet_neighbour: keeps bytes in memory that engines of the fleet lend, and looks after them.
//
// Says "ready", and answers each line of stdin with where they are:
//   {"peer_bytes": N, "wrong_bytes": N, "lost": N}
// Every byte is compared each time. Ends with stdin.
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/runtime.hpp"
#include "json_lines.hpp"
#include "program.hpp"
#include "stamps.hpp"

namespace aqua::fleet {
namespace {

using namespace aqua::literals;
using example::must;

constexpr std::size_t kTensorBytes = 1_MiB;
constexpr std::size_t kSlabBytes = 2_MiB;  // as engines lend

struct Options {
  std::string coordinator{};
  std::string device = "emu:9";
  std::size_t mib = 64;
};

CommandLine options_line(Options& options) {
  CommandLine line("", R"(Usage: fleet_neighbour --coordinator ADDRESS [options]

A neighbour of engines that lend: keeps tensors in lent memory, or in host memory while there is
none, and answers each line of its input with where they are, every byte compared.)");
  line.text("--coordinator", options.coordinator, "ADDRESS", "")
      .text("--device", options.device, "emu:N", "an emulated GPU")
      .number("--mib", options.mib, 1, 1 << 20, "N", "that it keeps");
  return line;
}

void check_options(const Options& options) {
  if (options.coordinator.empty()) throw example::Failure("--coordinator has to be given");
}

class Neighbour {
 public:
  explicit Neighbour(const Options& options)
      : runtime_(must(Runtime::open({.device = options.device,
                                     .coordinator = options.coordinator,
                                     .name = "fleet-neighbour",
                                     .host_bytes = options.mib * 1_MiB,
                                     .max_peer_bytes = options.mib * 1_MiB,
                                     .slab_bytes = kSlabBytes,
                                     .curve_directory = "off"}),
                      "runtime")),
        stream_(must(emulated::create_stream(runtime_), "stream")) {
    for (std::size_t i = 0; i < options.mib; ++i) {
      tensors_.push_back(
          must(runtime_.allocate({.bytes = kTensorBytes, .name = "kept " + std::to_string(i)}),
               "tensor"));
      work(i, Access::write, [i](std::span<std::byte> bytes) { example::fill_words(bytes, i); });
    }
  }
  ~Neighbour() {
    tensors_.clear();
    (void)emulated::destroy_stream(runtime_, stream_);
  }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

  [[nodiscard]] nlohmann::json look() {
    std::size_t wrong = 0, peer = 0;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i].lost()) continue;
      const Tier tier = work(i, Access::read, [&wrong, i](std::span<std::byte> bytes) {
        wrong += example::count_wrong_words(bytes, i) * example::kWordBytes;
      });
      if (tier == Tier::peer) peer += kTensorBytes;
    }
    return {{"peer_bytes", peer}, {"wrong_bytes", wrong}, {"lost", runtime_.status().lost_tensors}};
  }

 private:
  // In a kernel, which has ended then. Where the tensor was.
  template <typename Kernel>
  Tier work(std::size_t number, Access access, Kernel kernel) {
    Pin pin = must(tensors_[number].pin(access, stream_), "pin");
    const auto run = [&] { kernel(std::span(emulated::kernel_view(pin.data()), kTensorBytes)); };
    must(emulated::launch(runtime_, stream_, run), "kernel");
    must(emulated::synchronize(runtime_, stream_), "kernel");
    return pin.tier();
  }

  Runtime runtime_;
  Stream stream_;
  std::vector<AquaTensor> tensors_{};
};

int run(const Options& options) {
  Neighbour neighbour(options);
  example::LineReader lines(STDIN_FILENO);
  std::puts("ready");
  std::fflush(stdout);
  while (!lines.ended()) {
    for (const std::string& line : lines.read(std::chrono::seconds(3600))) {
      if (!line.empty() && !example::write_line(STDOUT_FILENO, neighbour.look())) return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace aqua::fleet

int main(int argc, char** argv) {
  using namespace aqua::fleet;
  return aqua::example::run_program<Options>({"fleet_neighbour", options_line, run, check_options},
                                             argc, argv);
}
