// SPDX-License-Identifier: Apache-2.0
#include "systems/kv_stream/decide/stream/peer.hpp"

#include "base/try.hpp"
#include "systems/kv_stream/decide/stream/note.hpp"

namespace aqua::kv_stream {

Result<StreamPeer> peer_of(const KvShards& own, std::uint32_t rank, const std::string& name,
                           const KvShards& theirs) {
  AQUA_TRY(check_group(name));
  StreamPeer peer{.name = name,
                  .agreement_out = agreement_of(own, theirs),
                  .agreement_in = agreement_of(theirs, own)};
  AQUA_ASSIGN(peer.out, routes_from(own, rank, theirs));
  AQUA_ASSIGN(peer.in, routes_to(theirs, own, rank));
  return peer;
}

std::vector<std::vector<std::uint32_t>> sources_of(const std::vector<StreamPeer>& peers) {
  std::vector<std::vector<std::uint32_t>> sources;
  for (const StreamPeer& peer : peers) {
    sources.emplace_back();
    for (const Route& route : peer.in) sources.back().push_back(route.peer);
  }
  return sources;
}

}  // namespace aqua::kv_stream
