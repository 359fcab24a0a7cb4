// SPDX-License-Identifier: Apache-2.0
#include "hosts/routes.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aqua/kv_stream/streamer.hpp"
#include "daemon_program.hpp"
#include "hosts/bridge.hpp"

namespace aqua::pipeline {
namespace {

using nlohmann::json;

constexpr const char* kPort = ":7451";

std::string courier_of(unsigned host) {
  return Bridge::address_of(host) + kPort;
}

json listening(const Placement& placement, unsigned host) {
  constexpr unsigned kMost = 32;  // connections; routes of a host and those to it are at most 64
  json peers = json::array();
  for (unsigned other = 0; other < placement.lost.size(); ++other) {
    if (other != host) peers.push_back(certificate_of(other));
  }
  return {
      {"address", courier_of(host)}, {"peers", peers}, {"copies", true}, {"connections", kMost}};
}

json carrying(const Options& options, const Placement& placement, unsigned host) {
  json routes = json::array();
  for (unsigned from = 0; from < placement.prefill.size(); ++from) {
    if (placement.prefill[from] != host) continue;
    for (unsigned to = 0; to < placement.decode.size(); ++to) {
      const unsigned there = placement.decode[to];
      if (there == host || placement.lost[there]) continue;
      routes.push_back({{"pool", kStreams},
                        {"from", kv_stream::Streamer::role(kPrefill, from)},
                        {"to", kv_stream::Streamer::role(kDecode, to)},
                        {"peer", certificate_of(there)},
                        {"address", courier_of(there)},
                        {"parcels", options.batch}});
    }
  }
  return routes;
}

}  // namespace

unsigned Placement::next(unsigned host) const {
  const auto hosts = static_cast<unsigned>(lost.size());
  for (unsigned i = 1; i < hosts; ++i) {
    if (const unsigned other = (host + i) % hosts; !lost[other]) return other;
  }
  return host;
}

std::string certificate_of(unsigned host) {
  return host_name(host) + ".test";
}

json courier_file(const Options& options, const Placement& placement, unsigned host,
                  const std::filesystem::path& folder) {
  json file{{"keeper", example::keeper_socket(folder)},
            {"certificate", folder / (certificate_of(host) + ".pem")},
            {"key", folder / (certificate_of(host) + ".key")},
            {"authority", folder / "authority.pem"},
            {"listen", listening(placement, host)}};
  if (options.over_ucx) file.update({{"carrier", "ucx"}, {"trusted_network", true}});
  if (json routes = carrying(options, placement, host); !routes.empty())
    file["carry"] = std::move(routes);
  if (const unsigned next = placement.next(host); options.replicate && next != host)
    file["mirror"] = {{{"peer", certificate_of(next)}, {"address", courier_of(next)}}};
  return file;
}

std::vector<std::uint64_t> kv_to_send(const Options& options, const Placement& placement,
                                      const std::vector<Request>& requests) {
  std::vector<std::uint64_t> bytes(placement.lost.size());
  if (!options.prefill) return bytes;
  std::uint64_t tokens = 0;
  // The KV of a request whose answer is one token is needed nowhere.
  for (const Request& request : requests)
    tokens += request.answer_tokens > 1 ? request.prompt.size() : 0;
  const ModelShape model = options.model_shape();
  const PipelineShape &prefill = *options.prefill, &decode = *options.decode;
  for (unsigned from = 0; from < prefill.stages; ++from) {
    const Range here = part_of(model, prefill, from, 0).layers;
    for (unsigned to = 0; to < decode.stages; ++to) {
      const Range there = part_of(model, decode, to, 0).layers;
      const unsigned first = std::max(here.first, there.first);
      const unsigned end = std::min(here.first + here.count, there.first + there.count);
      const unsigned host = placement.prefill[from * prefill.ranks];
      if (end <= first || placement.decode[to * decode.ranks] == host) continue;
      bytes[host] += std::uint64_t{2} * tokens * (end - first) * model.kv_heads * model.head_bytes;
    }
  }
  return bytes;
}

}  // namespace aqua::pipeline
