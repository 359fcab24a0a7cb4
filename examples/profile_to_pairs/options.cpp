// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include "must.hpp"

namespace aqua::example {
namespace {

constexpr const char* kAbout =
    R"(Usage: placed_engine --name ID --coordinator ADDRESS --profile FILE --directory DIR
                     [--device emu:N]

An engine on an emulated GPU that does what its profile says: a producer lends what it has free, a
consumer serves more than its cache holds and keeps the rest in lent memory. play.py starts eight.

On stdin   {"do": "go"}       begin: report a steady load, or serve
           {"do": "finish"}   say what was seen, and end
On stdout  {"say": "ready"}   it has joined its coordinator, and waits for "go"
           {"say": "lending"}, {"say": "borrowing"}: bytes are out; they came back and were right
           {"say": "final", "verified_bytes": N, "mismatched_bytes": N, ...})";

}  // namespace

CommandLine placed_line(PlacedOptions& options) {
  CommandLine line("", kAbout);
  line.text("--name", options.name, "ID", "the model's id in the placement")
      .text("--coordinator", options.coordinator, "ADDRESS", "of the server that it was placed on")
      .text("--device", options.device, "emu:N", "another one for each engine of a server")
      .text("--profile", options.profile, "FILE", "of aqua profile")
      .text("--directory", options.directory, "DIR", "for sockets; private to the server");
  return line;
}

void check_placed(const PlacedOptions& options) {
  const bool whole = !options.name.empty() && !options.coordinator.empty() &&
                     !options.profile.empty() && !options.directory.empty();
  if (!whole) throw Failure("--name, --coordinator, --profile and --directory are needed");
}

RuntimeOptions runtime_options(const PlacedOptions& options, std::size_t device_bytes) {
  RuntimeOptions runtime;
  runtime.device = options.device;
  runtime.coordinator = options.coordinator;
  runtime.name = options.name;
  runtime.profile = options.profile;
  runtime.slab_bytes = kPlacedSlabBytes;
  runtime.socket_directory = options.directory;
  runtime.emulated.total_bytes =
      (device_bytes + kPlacedSlabBytes - 1) / kPlacedSlabBytes * kPlacedSlabBytes;
  return runtime;
}

}  // namespace aqua::example
