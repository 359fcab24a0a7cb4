// SPDX-License-Identifier: Apache-2.0
// What is asked of the keeper over its socket, and answered: docs/internals/exchange.md has the
// packets. Each is a JSON object; memory goes beside it, as descriptors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "aqua/result.hpp"
#include "aqua/sharing/models.hpp"
#include "base/ids.hpp"
#include "base/keeper/packets.hpp"
#include "systems/sharing/decide/model_book.hpp"

namespace aqua::sharing::wire {

using namespace keeper_wire;

// A copy of a shard is to be published, in host memory a spare one. Answer: copy.
struct Publish {
  ShardName shard;
  DeviceUuid device;
  bool spare = false;
  std::uint64_t order = 0;  // of its version, in a keeper's own record
};
// Its next slabs, with a descriptor each.
struct Add {
  CopyId copy = 0;
  std::vector<std::uint64_t> bytes;
};
// All of them are there, and with this comes the descriptor of the manifest: a sealed memfd.
struct Commit {
  CopyId copy = 0;
};
// Answer: copy, version, slabs, enforced; with it the descriptor of the manifest. To who waits for
// what is being published `later`, with an eventfd: it is signalled when it is worth asking again.
struct Attach {
  ShardName shard;
  DeviceUuid device;
  bool wait = false;
};
// Slabs of a copy that the caller reads, from this one on. Answer: bytes, with a descriptor each,
// as many as go into a packet.
struct Fetch {
  CopyId copy = 0;
  std::uint32_t first = 0;
};
struct Detach {
  CopyId copy = 0;
};
// Answer: models from this row on, and whether there are more.
struct ListModels {
  std::uint32_t first = 0;
};
// Answer: copies from this row on, and whether there are more.
struct ListCopies {
  std::uint32_t first = 0;
};
struct Retire {
  std::string model;
  std::string version;
};
// A version's copies on a device, which nobody reads, are to go.
struct Drop {
  std::string model;
  std::string version;
  DeviceUuid device;
};
// Answer: freeing, the bytes that the keeper has let go of and the kernel is freeing. To who waits
// and has to `later`, with an eventfd: it is signalled when it is worth asking again.
struct Freeing {
  bool wait = false;
};
using Request = std::variant<Publish, Add, Commit, Attach, Fetch, Detach, ListModels, ListCopies,
                             Retire, Drop, Freeing>;

struct Reply {
  CopyId copy = 0;
  std::string version{};
  std::uint32_t slabs = 0;
  bool enforced = false;
  bool later = false;
  std::vector<std::uint64_t> bytes{};
  std::vector<ModelStatus> models{};
  std::vector<ModelCopy> copies{};
  bool more = false;
  std::uint64_t freeing = 0;
  friend bool operator==(const Reply&, const Reply&) = default;
};

[[nodiscard]] std::string encode(const Request& request);
[[nodiscard]] std::string encode(const Result<Reply>& reply);
// invalid_argument for anything else.
[[nodiscard]] Result<Request> decode_request(std::string_view packet);
// The keeper's own refusal, or invalid_argument for what is no answer.
[[nodiscard]] Result<Reply> decode_reply(std::string_view packet);

}  // namespace aqua::sharing::wire
