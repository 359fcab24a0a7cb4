// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/calibrate/calibrate_command.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "device/own_stream.hpp"
#include "runtime/options.hpp"
#include "tools/cli/calibrate/curve_report.hpp"
#include "transfer/calibration/curve_store.hpp"
#include "transfer/calibration/far_memory.hpp"

namespace aqua::tool {
namespace {

constexpr const char* kAbout =
    R"(Usage: aqua calibrate [options]

Measures how fast a device copies, each way over each link, and keeps it.)";

Error bad(const std::string& what) {
  return Error{Code::invalid_argument, concat("calibrate: ", what)};
}

Result<CalibrateCommand::Explain> parse_explain(std::string_view text) {
  constexpr std::size_t kMost = std::size_t{1} << 50;
  const std::size_t comma = text.find(',');
  if (comma != text.npos) {
    const auto bytes = parse_between<std::size_t>(text.substr(0, comma), 1, kMost);
    const auto block = parse_between<std::size_t>(text.substr(comma + 1), 1, kMost);
    if (bytes.ok() && block.ok() && *block <= *bytes)
      return CalibrateCommand::Explain{.bytes = *bytes, .block = *block};
  }
  return Error{Code::invalid_argument, "expected BYTES,BLOCK with 0 < BLOCK <= BYTES"};
}

Result<std::unique_ptr<device::Device>> open(const std::string& name) {
  RuntimeOptions options;
  options.device = name;
  return runtime::open_device(options);
}

// What the file has of other links stays there.
Result<transfer::CurveSet> measure(device::Device& device, const CalibrateCommand& command,
                                   const std::string& directory) {
  std::unique_ptr<device::Device> neighbour;
  if (!command.peer.empty()) {
    AQUA_ASSIGN(neighbour, open(command.peer));
  }
  AQUA_ASSIGN(const transfer::CurveSet measured,
              transfer::calibrate_links(device, neighbour.get(), {}, command.mib << 20));
  transfer::CurveSet all;
  if (directory.empty()) return measured;
  const auto key = transfer::key_of(device.info());
  if (const auto kept = transfer::load_curves(directory, key); kept.ok()) all = *kept;
  all.merge(measured);
  if (const auto saved = transfer::save_curves(directory, key, all); !saved.ok()) {
    std::fprintf(stderr, "aqua: %s; not kept\n", saved.error().message.c_str());
  }
  return all;
}

Result<transfer::WaySet> possible_ways(device::Device& device) {
  AQUA_ASSIGN(auto stream, device::OwnStream::create(device));
  transfer::WaySet ways{transfer::Way::staged};
  for (const transfer::Way way :
       {transfer::Way::each, transfer::Way::batched, transfer::Way::kernel}) {
    if (device.supports(transfer::method_of(way), *stream)) ways.add(way);
  }
  AQUA_TRY(stream.end());
  return ways;
}

}  // namespace

CommandLine calibrate_line(CalibrateCommand& command) {
  CommandLine line("calibrate", kAbout);
  line.text("--device", command.device, "DEVICE", "emu:N or cuda:N; default: $AQUA_DEVICE, else")
      .text("--peer", command.peer, "DEVICE", "measure the link to this neighbour as well")
      .text("--directory", command.directory, "DIR|off",
            "where measurements are kept; default: the user's cache. off: nowhere")
      .flag("--cached", command.cached, "show what is kept, if that is good, instead of measuring")
      .number("--mib", command.mib, 4, 16384, "N",
              "the largest transfer measured; more for large caches")
      .flag("--json", command.json, "for scripts")
      .flag("--plot", command.plot, "for the eye")
      .option("--explain", "BYTES,BLOCK",
              "which way BYTES in scattered blocks would take, why, how long",
              [&command](std::string_view value) -> Result<void> {
                AQUA_ASSIGN(command.explain, parse_explain(value));
                return {};
              });
  return line;
}

Result<CalibrateCommand> parse_calibrate(std::span<const std::string_view> arguments) {
  CalibrateCommand command;
  if (const char* device = std::getenv("AQUA_DEVICE"); device != nullptr && *device != '\0') {
    command.device = device;
  }
  AQUA_TRY(calibrate_line(command).parse(arguments));
  if (command.json && command.plot) return bad("--json and --plot exclude each other");
  return command;
}

Result<std::string> run_calibrate(const CalibrateCommand& command) {
  std::string directory = command.directory == "off" ? "" : command.directory;
  if (command.directory.empty()) directory = transfer::default_curve_directory();
  AQUA_ASSIGN(const auto device, open(command.device));
  CurveReport report;
  report.device = device->info().name;
  report.driver = device->info().driver;
  report.bytes = command.mib << 20;
  AQUA_ASSIGN(report.possible, possible_ways(*device));
  bool have = false;
  if (command.cached && !directory.empty()) {
    auto kept = transfer::load_curves(directory, transfer::key_of(device->info()));
    have = kept.ok();
    if (have) {
      report.curves = std::move(kept).value();
    } else {
      std::fprintf(stderr, "aqua: %s; measuring\n", kept.error().message.c_str());
    }
  }
  if (!have) {
    AQUA_ASSIGN(report.curves, measure(*device, command, directory));
  }
  if (command.explain) {
    const auto [bytes, block] = *command.explain;
    return command.json ? render_explanation_json(report, bytes, block)
                        : render_explanation(report, bytes, block);
  }
  if (command.json) return render_json(report);
  return command.plot ? render_plot(report) : render_table(report);
}

}  // namespace aqua::tool
