// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include "option_table.hpp"

namespace aqua::example {

PlacedOptions parse_placed_options(std::span<const char* const> arguments) {
  OptionTable<PlacedOptions> table;
  table.path("--profile", &PlacedOptions::profile)
      .path("--directory", &PlacedOptions::directory)
      .value("--name", [](auto& o, auto&, auto v) { o.name = v; })
      .value("--coordinator", [](auto& o, auto&, auto v) { o.coordinator = v; })
      .value("--device", [](auto& o, auto&, auto v) { o.device = v; })
      .flag("--help", &PlacedOptions::help)
      .flag("-h", &PlacedOptions::help);
  PlacedOptions options = table.parse(arguments);
  const bool whole = !options.name.empty() && !options.coordinator.empty() &&
                     !options.profile.empty() && !options.directory.empty();
  if (!whole && !options.help)
    throw Failure("--name, --coordinator, --profile and --directory are needed");
  return options;
}

std::string_view placed_usage() {
  return R"(usage: placed_engine --name ID --coordinator ADDRESS --profile FILE --directory DIR
                     [--device emu:N]

An engine on an emulated GPU that does what its profile says: a producer lends what it has free, a
consumer serves more than its cache holds and keeps the rest in lent memory. play.py starts eight.

On stdin   {"do": "go"}       begin: report a steady load, or serve
           {"do": "finish"}   say what was seen, and end
On stdout  {"say": "ready"}   it has joined its coordinator, and waits for "go"
           {"say": "lending"}, {"say": "borrowing"}: bytes are out; they came back and were right
           {"say": "final", "verified_bytes": N, "mismatched_bytes": N, ...}
)";
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
