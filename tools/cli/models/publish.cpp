// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/models/publish.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "aqua/published_memory.hpp"
#include "aqua/sharing/copy_weights.hpp"
#include "aqua/sharing/models.hpp"
#include "aqua/sharing/trim_weights.hpp"
#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/report/progress_line.hpp"

namespace aqua::tool {
namespace {

using Json = nlohmann::ordered_json;
using report::ProgressLine;
using sharing::LoadedWeights;
// What has been published now; nothing: the version was there before, which is as good.
using Published = std::optional<LoadedWeights>;

constexpr std::size_t kHostTier = std::size_t{2} << 20;  // of no use to a loader, and the smallest
// An emulated GPU is as large as is asked for.
constexpr std::size_t kLargeEmulated = std::size_t{256} << 30;

// Whether the device has the shard that is asked for. Not so while it is still being published.
Result<bool> has(Runtime& device, const ModelsCommand& command) {
  AQUA_ASSIGN(const auto copies, sharing::list_copies(command.load.keeper));
  const std::string place = PublishedMemory::device_of(device);
  return std::any_of(copies.begin(), copies.end(), [&](const sharing::ModelCopy& copy) {
    return copy.model == command.load.model && copy.version == command.load.version &&
           copy.shard == command.load.shard && copy.device == place && !copy.filling && !copy.spare;
  });
}

Result<Published> published(Runtime& device, const ModelsCommand& command,
                            const Result<LoadedWeights>& result) {
  if (result.ok()) return Published(*result);
  if (result.error().code != Code::already_exists) return result.error();
  AQUA_ASSIGN(const bool there, has(device, command));
  if (!there) return result.error();
  return Published();
}

std::string said(const ModelsCommand& command, const Published& now) {
  const std::string& model = command.load.model;
  const std::string& version = now ? now->version : command.load.version;
  if (!command.json) {
    if (!now) return concat(model, " ", version, " is there already\n");
    return concat(model, " ", version, ": ", now->tensors, " tensors, ", now->bytes >> 20,
                  " MiB\n");
  }
  Json all{{"model", model}, {"version", version}, {"there_already", !now}};
  if (now) {
    all["tensors"] = now->tensors;
    all["bytes"] = now->bytes;
    all["slab_bytes"] = now->slab_bytes;
  }
  return all.dump(2) + "\n";
}

Result<std::vector<Runtime>> open_all(const std::vector<std::string>& devices) {
  std::vector<Runtime> opened;
  opened.reserve(devices.size());
  for (const std::string& device : devices) {
    AQUA_ASSIGN(Runtime runtime, open_for_models(device, kLargeEmulated));
    opened.push_back(std::move(runtime));
  }
  return opened;
}

auto show(ProgressLine& line, const std::string& model) {
  return [&](std::uint64_t done, std::uint64_t of) { line.show(model, done, of); };
}

// To the devices that `to` are opened on, whose names are `names`. `there`: what has them already.
Result<Published> broadcast(const ModelsCommand& command, Runtime& from,
                            const std::vector<Runtime*>& to, std::span<const std::string> names,
                            std::string there = {}) {
  ProgressLine line(stderr, ProgressLine::Where::terminals, "copy");
  const auto copied =
      sharing::broadcast_weights(to, {.model = command.load.model,
                                      .version = command.load.version,
                                      .shard = command.load.shard,
                                      .shards = command.load.shards,
                                      .source = &from,
                                      .keeper = command.load.keeper,
                                      .on_progress = show(line, command.load.model)});
  Published now;
  std::optional<Code> failed;
  std::string why;
  for (std::size_t i = 0; i < copied.size(); ++i) {
    const auto one = published(*to[i], command, copied[i]);
    if (one.ok()) {
      there += concat(there.empty() ? "" : ", ", names[i]);
      if (*one) now = *one;
      continue;
    }
    if (!failed) failed = one.error().code;
    why += concat(why.empty() ? "" : "; ", names[i], ": ", one.error().message);
  }
  if (!failed) return now;
  return Error{*failed, concat(why, there.empty() ? "" : concat("; there: ", there))};
}

}  // namespace

Result<Runtime> open_for_models(const std::string& device, std::size_t emulated_bytes) {
  return Runtime::open({.device = device,
                        .coordinator = "none",
                        .host_bytes = kHostTier,
                        .curve_directory = "off",
                        .emulated = {.total_bytes = emulated_bytes}});
}

Result<std::string> load_models(const ModelsCommand& command) {
  AQUA_ASSIGN(std::vector<Runtime> devices, open_all(command.devices));
  sharing::LoadOptions options = command.load;
  options.slab_bytes = command.slab_mib << 20;
  ProgressLine line(stderr, ProgressLine::Where::terminals, "load");
  options.on_progress = show(line, options.model);
  AQUA_ASSIGN(Published now,
              published(devices.front(), command,
                        sharing::load_weights(devices.front(), command.files, options)));
  std::vector<Runtime*> others;
  others.reserve(devices.size());
  for (std::size_t i = 1; i < devices.size(); ++i) others.push_back(&devices[i]);
  if (!others.empty()) {
    AQUA_ASSIGN(const Published copied,
                broadcast(command, devices.front(), others, std::span(command.devices).subspan(1),
                          command.devices.front()));
    if (!now) now = copied;
  }
  return said(command, now);
}

Result<std::string> copy_models(const ModelsCommand& command) {
  AQUA_ASSIGN(Runtime from, open_for_models(command.from, kLargeEmulated));
  AQUA_ASSIGN(std::vector<Runtime> devices, open_all(command.devices));
  std::vector<Runtime*> to;
  to.reserve(devices.size());
  for (Runtime& device : devices) to.push_back(&device);
  AQUA_ASSIGN(const Published copied, broadcast(command, from, to, command.devices));
  return said(command, copied);
}

Result<std::string> trim_models(const ModelsCommand& command) {
  AQUA_ASSIGN(Runtime device, open_for_models(command.devices.front(), kLargeEmulated));
  AQUA_ASSIGN(Runtime host, open_for_models("host", 0));
  ProgressLine line(stderr, ProgressLine::Where::terminals, "trim");
  AQUA_ASSIGN(
      const auto moved,
      sharing::trim_weights(device, host,
                            {.bytes = command.mib << 20,
                             .keeper = command.load.keeper,
                             .on_move = [&](const std::string& model, const std::string& version) {
                               line.show(concat(model, " ", version));
                             }}));
  Json versions = Json::array();
  std::string text;
  std::uint64_t bytes = 0;
  for (const sharing::TrimmedVersion& one : moved) {
    bytes += one.bytes;
    versions.push_back({{"model", one.model}, {"version", one.version}, {"bytes", one.bytes}});
    text += concat(one.model, " ", one.version, ": ", one.bytes >> 20, " MiB to host memory\n");
  }
  if (command.json) return Json{{"moved", versions}, {"bytes", bytes}}.dump(2) + "\n";
  if (bytes >> 20 >= command.mib) return text;
  return concat(text, bytes >> 20, " of ", command.mib,
                " MiB were given back: nothing else there may go\n");
}

}  // namespace aqua::tool
