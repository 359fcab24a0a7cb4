// SPDX-License-Identifier: Apache-2.0
#include "tools/cli/models/models_command.hpp"

#include <nlohmann/json.hpp>

#include "aqua/published_memory.hpp"
#include "aqua/sharing/models.hpp"
#include "aqua/sharing/shared_weights.hpp"
#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/cli/action.hpp"
#include "tools/cli/models/listing.hpp"
#include "tools/cli/models/publish.hpp"

namespace aqua::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kAbout =
    R"(Usage: aqua models [list] [options]
       aqua models load --file FILE --model NAME --version VERSION --device DEVICE... [options]
       aqua models copy --model NAME --from DEVICE --device DEVICE... [options]
       aqua models verify --model NAME --device DEVICE [options]
       aqua models trim --device DEVICE --mib N [options]
       aqua models drop --model NAME --version VERSION --device DEVICE [options]
       aqua models retire --model NAME --version VERSION [options]

What the keeper of this server has of models' weights. load reads them from files, once for every
engine of a device; copy brings them to other devices, where no file is read; of several devices
each has them from one that has them already. To load a version that is there is no error, and reads
nothing. verify reads what is published again and compares its digests. trim makes room on a device:
what nobody reads goes to host memory, the least recently used first, and comes back by copy --from
host. drop has a device's copy go, which nobody reads; retire has a version go with its last reader.
(docs/operate/keeper.md))";

Error bad(const std::string& what) {
  return Error{Code::invalid_argument, concat("models: ", what)};
}

Result<void> take_rules(ModelsCommand& command) {
  for (const std::string& text : command.split) {
    const std::size_t at = text.rfind('=');
    const auto axis = at == std::string::npos
                          ? Result<std::uint32_t>(bad("no ="))
                          : parse_between<std::uint32_t>(text.substr(at + 1), 0, 7);
    if (!axis.ok() || at == 0) return bad(concat("--split ", text, ": expected PATTERN=AXIS"));
    command.load.rules.push_back({.pattern = text.substr(0, at), .axis = *axis});
  }
  return {};
}

// What an action cannot do without, besides what has a default.
Result<void> check_all_there(const ModelsCommand& command) {
  const auto needs = [&](bool there, const char* option) -> Result<void> {
    if (there) return {};
    return bad(concat("this needs ", option));
  };
  const bool load = command.action == ModelsAction::load;
  if (command.action == ModelsAction::list) return {};
  const bool trim = command.action == ModelsAction::trim;
  if (trim) AQUA_TRY(needs(command.mib != 0, "--mib"));
  if (!trim) AQUA_TRY(needs(!command.load.model.empty(), "--model"));
  if (trim && !(command.load.model + command.load.version).empty()) {
    return bad("trim chooses by itself: it takes neither --model nor --version");
  }
  const bool newest =
      command.action == ModelsAction::verify || command.action == ModelsAction::copy;
  if (!newest && !trim) AQUA_TRY(needs(!command.load.version.empty(), "--version"));
  if (load) AQUA_TRY(needs(!command.files.empty(), "--file"));
  if (command.action == ModelsAction::copy) AQUA_TRY(needs(!command.from.empty(), "--from"));
  if (command.slab_mib % 2 != 0) return bad("--slab-mib is not even");
  if (command.load.shard >= command.load.shards) return bad("--shard is not below --shards");
  const bool several = load || command.action == ModelsAction::copy;
  if (!several && command.devices.size() > 1) return bad("more than one --device");
  return {};
}

std::string said(const ModelsCommand& command, const char* done, const std::string& text) {
  const sharing::LoadOptions& what = command.load;
  if (!command.json) return concat(what.model, " ", what.version, text, "\n");
  return Json{{"model", what.model}, {done, what.version}}.dump(2) + "\n";
}

Result<std::string> drop(const ModelsCommand& command) {
  AQUA_ASSIGN(Runtime runtime, open_for_models(command.devices.front(), std::size_t{1} << 30));
  AQUA_TRY(sharing::drop_copies(command.load.model, command.load.version,
                                PublishedMemory::device_of(runtime), command.load.keeper));
  return said(command, "dropped", " has gone from there");
}

Result<std::string> retire(const ModelsCommand& command) {
  AQUA_TRY(sharing::retire_model(command.load.model, command.load.version, command.load.keeper));
  return said(command, "retired", " goes with its last reader, or has gone");
}

Result<std::string> verify(const ModelsCommand& command) {
  AQUA_ASSIGN(Runtime runtime, open_for_models(command.devices.front(), std::size_t{1} << 30));
  AQUA_ASSIGN(auto weights,
              sharing::SharedWeights::attach(runtime, {.model = command.load.model,
                                                       .version = command.load.version,
                                                       .shard = command.load.shard,
                                                       .shards = command.load.shards,
                                                       .keeper = command.load.keeper}));
  AQUA_TRY(weights.verify());
  const auto& manifest = weights.manifest();
  if (command.json) {
    return Json{{"model", manifest.model},
                {"version", manifest.version},
                {"tensors", manifest.tensors.size()},
                {"write_protection", to_string(weights.protection())}}
               .dump(2) +
           "\n";
  }
  return concat(
      manifest.model, " ", manifest.version, ": ", manifest.tensors.size(),
      " tensors are what was published; write protection: ", to_string(weights.protection()), "\n");
}

}  // namespace

CommandLine models_line(ModelsCommand& command) {
  CommandLine line("models", kAbout);
  line.list("--file", command.files, "FILE",
            "GGUF or safetensors; several where the model is in several")
      .text("--model", command.load.model, "NAME", "as engines ask for it")
      .text("--version", command.load.version, "VERSION",
            "of these weights; left out, the newest on the device is copied or verified")
      .list("--device", command.devices, "DEVICE",
            "cuda:N, GPU-UUID, emu:N or host; several to load on or to copy to; else $AQUA_DEVICE")
      .text("--from", command.from, "DEVICE", "that has the weights to copy")
      .number("--mib", command.mib, 1, std::uint64_t{1} << 40, "N", "that trim is to make free")
      .flag("--copies", command.copies, "list each shard on each device")
      .number("--shard", command.load.shard, 0, 4095, "I", "which part, for engines of several")
      .number("--shards", command.load.shards, 1, 4096, "N", "of how many")
      .list("--split", command.split, "PATTERN=AXIS",
            "cut such tensors along this axis (0: the outermost); others are whole in each shard")
      .number("--slab-mib", command.slab_mib, 2, 65536, "N", "a descriptor each; even")
      .text("--keeper", command.load.keeper, "PATH",
            "its socket; else $AQUA_KEEPER, else keeper.sock where aqua-keeper puts it")
      .flag("--json", command.json, "for scripts");
  return line;
}

Result<ModelsCommand> parse_models(std::span<const std::string_view> arguments) {
  ModelsCommand command;
  auto action = take_action<ModelsAction>(arguments, {{"list", ModelsAction::list},
                                                      {"load", ModelsAction::load},
                                                      {"copy", ModelsAction::copy},
                                                      {"verify", ModelsAction::verify},
                                                      {"trim", ModelsAction::trim},
                                                      {"drop", ModelsAction::drop},
                                                      {"retire", ModelsAction::retire}});
  if (!action.ok()) return bad(action.error().message);
  command.action = *action;
  AQUA_TRY(models_line(command).parse(arguments));
  if (command.devices.empty()) command.devices.emplace_back();  // $AQUA_DEVICE
  AQUA_TRY(take_rules(command));
  AQUA_TRY(check_all_there(command));
  return command;
}

Result<std::string> run_models(const ModelsCommand& command) {
  switch (command.action) {
    case ModelsAction::list:
      return command.copies ? list_copies(command) : list_models(command);
    case ModelsAction::load:
      return load_models(command);
    case ModelsAction::copy:
      return copy_models(command);
    case ModelsAction::verify:
      return verify(command);
    case ModelsAction::trim:
      return trim_models(command);
    case ModelsAction::drop:
      return drop(command);
    case ModelsAction::retire:
      return retire(command);
  }
  return Error{Code::internal, "no such action"};
}

}  // namespace aqua::tool
