// SPDX-License-Identifier: Apache-2.0
#include "tools/sim/pipeline/planning.hpp"

#include <cmath>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::sim {

Result<MachineGround> machine_ground(const ModelSpec& model, const ServerSpec& server,
                                     const MachineOptions& options) {
  if (!server.network) {
    return Error{Code::invalid_argument,
                 concat("server '", server.name,
                        "' says nothing of its network: take one that does (a100x2), or add "
                        "\"network\" to its file")};
  }
  MachineGround ground{.model = model, .server = server, .cost = {}, .sources = {}, .links = {}};
  AQUA_ASSIGN(ground.cost, CostModel::build(model, server,
                                            {.profiles = options.profiles,
                                             .tensor_parallel = server.gpus,
                                             .max_batch_tokens = options.max_pass_tokens}));
  ground.sources = ground.cost.sources();
  AQUA_ASSIGN(const LinkSpec network,
              resolve_link(*server.network, "network", options.profiles, ground.sources));
  ground.links = {.bytes_per_second = network.between_bytes_per_second(),
                  .latency = picos(network.latency_s),
                  .activation_bytes = static_cast<double>(model.hidden) * model.bytes_per_value};
  if (server.host_bytes > 0) {
    const std::size_t colon = server.host_source.find(": ");
    const bool labelled = colon != std::string::npos;
    ground.sources.push_back(
        {"host memory", labelled ? server.host_source.substr(0, colon) : "assumed",
         labelled ? server.host_source.substr(colon + 2) : server.host_source});
  }
  return ground;
}

Result<void> allow_swapping(kv_stream::PlanInput& input, MachineGround& ground,
                            const std::filesystem::path& profiles, Swapping swapping,
                            double lent_bytes) {
  if (swapping == Swapping::never) return {};
  const ServerSpec& server = ground.server;
  if (server.host_bytes <= 0) {
    return Error{Code::invalid_argument,
                 concat("server '", server.name,
                        "' says nothing of its host memory, where swapped KV is: add \"host\" to "
                        "its file")};
  }
  AQUA_ASSIGN(const LinkSpec host, resolve_link(server.pcie, "PCIe", profiles, ground.sources));
  input.away = {.host_bytes = static_cast<std::uint64_t>(server.host_bytes),
                .host_bytes_per_second = host.between_bytes_per_second() * server.gpus};
  input.only_swapped = swapping == Swapping::must;
  if (lent_bytes < 1) return {};
  AQUA_ASSIGN(const LinkSpec lent, resolve_link(server.nvlink, "NVLink", profiles, ground.sources));
  input.away.lent_bytes = static_cast<std::uint64_t>(lent_bytes);
  input.away.lent_bytes_per_second = lent.between_bytes_per_second() * server.gpus;
  return {};
}

double stream_seconds(const MachineGround& ground, const PipelineLengths& lengths,
                      std::uint32_t requests) {
  return requests * lengths.prompt * ground.model.kv_bytes_per_token() /
         ground.links.bytes_per_second;
}

kv_stream::PlanInput plan_input(const MachineGround& ground, const PipelineLengths& lengths,
                                std::uint32_t machines,
                                const std::vector<std::uint32_t>& microbatches) {
  const ModelSpec& model = ground.model;
  const ServerSpec& server = ground.server;
  const double machine = server.gpu.memory_bytes * server.gpus;
  const double ends =
      model.weight_bytes() - model.layer_weights() * model.bytes_per_value * model.layers;
  kv_stream::PlanInput input{
      .machines = machines,
      .machine_bytes = static_cast<std::uint64_t>(machine),
      .reserved_bytes = static_cast<std::uint64_t>(machine * (1 - server.usable_memory) + ends),
      .layers = model.layers,
      .layer_weight_bytes =
          static_cast<std::uint64_t>(model.layer_weights() * model.bytes_per_value),
      .layer_kv_bytes = static_cast<std::uint64_t>(model.kv_bytes_per_token() / model.layers),
      .prompt_tokens = lengths.longest_prompt};
  const auto steps = [](double output) {
    return static_cast<std::uint32_t>(std::max(1LL, std::llround(output - 1)));
  };
  input.new_tokens = steps(lengths.output);
  input.reserved_tokens = std::max(steps(lengths.longest_output), input.new_tokens);
  const ModelledCost cost(ground.cost);
  const StageLayers all{.first = 0, .count = model.layers, .of = model.layers};
  const auto prompt = static_cast<std::uint32_t>(std::llround(lengths.prompt));
  const double held = lengths.prompt + lengths.output / 2;
  for (const std::uint32_t b : microbatches) {
    const Pass prompts{.prompts = b,
                       .prompt_tokens = std::uint64_t{b} * prompt,
                       .prompt_attention = b * cost.prompt_attention(prompt, 0),
                       .first_tokens = b};
    const Pass tokens{.decodes = b, .kv_tokens = static_cast<std::uint64_t>(held * b)};
    input.microbatches.push_back({.requests = b,
                                  .prompt_seconds = seconds(cost.stage_time(prompts, all)),
                                  .token_seconds = seconds(cost.stage_time(tokens, all)),
                                  .stream_seconds = stream_seconds(ground, lengths, b)});
  }
  return input;
}

PipelineShape shape_of(const MachineGround& ground, const kv_stream::PlanInput& input,
                       const kv_stream::Split& split) {
  PipelineShape shape;
  take_input(shape, input);
  take_split(shape, input, split);
  shape.host_bytes = static_cast<std::uint64_t>(ground.server.host_bytes);
  shape.links = ground.links;
  return shape;
}

}  // namespace aqua::sim
