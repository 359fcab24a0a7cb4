// SPDX-License-Identifier: Apache-2.0
#include "play/start.hpp"

#include <unistd.h>

#include <chrono>
#include <utility>

namespace aqua::pipeline {
namespace {

using example::ChildProcess;

std::vector<std::string> model_arguments(const Options& options) {
  std::vector<std::string> line{"--batch",         std::to_string(options.batch),
                                "--prompt-tokens", std::to_string(options.prompt_tokens),
                                "--answer-tokens", std::to_string(options.answer_tokens),
                                "--layers",        std::to_string(options.model.layers),
                                "--kv-heads",      std::to_string(options.model.kv_heads),
                                "--block-tokens",  std::to_string(options.cache.tokens_per_block)};
  if (options.layer_us > 0)
    line.insert(line.end(), {"--layer-us", std::to_string(options.layer_us)});
  if (options.cache.heads_first) line.emplace_back("--heads-first");
  if (options.replicate) line.emplace_back("--replicate");
  if (!options.record.empty()) line.emplace_back("--log-steps");
  if (options.ttl_ms > 0) line.insert(line.end(), {"--ttl-ms", std::to_string(options.ttl_ms)});
  if (options.prefill) {
    for (const auto& [name, shape] :
         {std::pair("--prefill", *options.prefill), std::pair("--decode", *options.decode)})
      line.insert(line.end(), {name, to_string(shape)});
  } else {
    line.insert(line.end(), {"--colocated", to_string(options.colocated)});
  }
  return line;
}

std::vector<std::string> kills_at_steps(const Options& options, const std::string& pipeline) {
  std::vector<std::string> line;
  for (const bool stops : {false, true}) {
    for (const std::string& text : stops ? options.stop : options.kill) {
      const bool concerns = text.starts_with(pipeline + ":") || text.starts_with(kCoordinator) ||
                            text.starts_with(kKeeper);
      if (concerns && !text.ends_with('%'))
        line.insert(line.end(), {stops ? "--stop" : "--kill", text});
    }
  }
  return line;
}

}  // namespace

std::vector<std::string> role_line(const char* role, const std::filesystem::path& directory) {
  return {std::filesystem::read_symlink("/proc/self/exe"),
          role,
          "--directory",
          directory,
          "--parent",
          std::to_string(::getpid())};
}

std::vector<std::string> keeper_line(const Options& options,
                                     const std::filesystem::path& directory) {
  std::vector<std::string> line = role_line("--keeper-role", directory);
  if (!options.keeper.empty()) line.insert(line.end(), {"--keeper-binary", options.keeper});
  return line;
}

ChildProcess start_keeper(const Options& options, const std::filesystem::path& directory) {
  constexpr std::chrono::seconds kStartPatience{60};  // on a busy machine
  ChildProcess keeper("keeper", keeper_line(options, directory));
  example::await_line(keeper, "listening", kStartPatience);
  return keeper;
}

ChildProcess start_stage(const Options& options, const StageProcess& stage) {
  std::vector<std::string> line = role_line("--stage-role", stage.directory);
  line.insert(line.end(), {"--pipeline", stage.pipeline, "--shape", to_string(stage.shape),
                           "--coordinator", stage.coordinator, "--member", stage.member});
  if (stage.host != 0) {
    line.insert(line.end(), {"--enter", std::to_string(stage.host), "--address", stage.address});
  }
  const std::optional<Place>& place = stage.place;
  if (place) {
    line.insert(line.end(),
                {"--stage", std::to_string(place->stage), "--rank", std::to_string(place->rank)});
    if (options.flip && place->first() && place->rank == 0) line.emplace_back("--flip-a-byte");
  } else {
    line.emplace_back("--standby");
  }
  for (auto& each : model_arguments(options)) line.push_back(std::move(each));
  for (auto& each : kills_at_steps(options, stage.pipeline)) line.push_back(std::move(each));
  return {place ? place->name() : stage.member + ", which stood by", line};
}

}  // namespace aqua::pipeline
