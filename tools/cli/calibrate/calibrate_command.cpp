// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/calibrate/calibrate_command.hpp"

#include <charconv>
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

Error bad(const std::string& what) {
  return Error{Code::invalid_argument, concat("calibrate: ", what)};
}

Result<CalibrateCommand::Explain> parse_explain(std::string_view text) {
  CalibrateCommand::Explain explain;
  const char* const end = text.data() + text.size();
  const auto [comma, error] = std::from_chars(text.data(), end, explain.bytes);
  if (error == std::errc{} && comma != end && *comma == ',') {
    const auto [last, error2] = std::from_chars(comma + 1, end, explain.block);
    const bool sane = explain.block > 0 && explain.block <= explain.bytes &&
                      explain.bytes <= (std::size_t{1} << 50);
    if (error2 == std::errc{} && last == end && sane) return explain;
  }
  return bad(concat("--explain ", text, ": expected BYTES,BLOCK with 0 < BLOCK <= BYTES"));
}

Result<std::size_t> parse_mib(std::string_view text) {
  std::size_t mib = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, mib);
  if (error == std::errc{} && last == end && mib >= 4 && mib <= 16384) return mib;
  return bad(concat("--mib ", text, ": expected 4 to 16384"));
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

Result<CalibrateCommand> parse_calibrate(std::span<const std::string_view> arguments) {
  CalibrateCommand command;
  if (const char* device = std::getenv("AQUA_DEVICE"); device != nullptr && *device != '\0') {
    command.device = device;
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view name = arguments[i];
    const bool flag = name == "--json" || name == "--plot" || name == "--cached";
    if (name == "--json") command.json = true;
    if (name == "--plot") command.plot = true;
    if (name == "--cached") command.cached = true;
    if (flag) continue;
    const bool known = name == "--device" || name == "--peer" || name == "--directory" ||
                       name == "--explain" || name == "--mib";
    if (!known) return bad(concat("unknown argument '", name, "'"));
    if (++i == arguments.size()) return bad(concat(name, " needs a value"));
    if (name == "--device") command.device = arguments[i];
    if (name == "--peer") command.peer = arguments[i];
    if (name == "--directory") command.directory = arguments[i];
    if (name == "--mib") {
      AQUA_ASSIGN(command.mib, parse_mib(arguments[i]));
    }
    if (name == "--explain") {
      AQUA_ASSIGN(command.explain, parse_explain(arguments[i]));
    }
  }
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
