// SPDX-License-Identifier: Apache-2.0
#include "aqua/sharing/models.hpp"

#include <iterator>

#include "base/deadline.hpp"
#include "base/try.hpp"
#include "systems/sharing/act/keeper_client.hpp"

namespace aqua::sharing {

namespace {

// All rows, which come in several answers to `Request`, in this part of each.
template <typename Request, typename Row>
Result<std::vector<Row>> list(const std::string& keeper, std::vector<Row> wire::Reply::*part) {
  AQUA_ASSIGN(KeeperClient client, KeeperClient::connect(keeper));
  std::vector<Row> rows;
  for (bool more = true; more;) {
    AQUA_ASSIGN(auto answer,
                client.call(Request{.first = static_cast<std::uint32_t>(rows.size())}));
    std::vector<Row>& next = answer.reply.*part;
    more = answer.reply.more && !next.empty();
    rows.insert(rows.end(), std::make_move_iterator(next.begin()),
                std::make_move_iterator(next.end()));
  }
  return rows;
}

}  // namespace

Result<std::vector<ModelStatus>> list_models(const std::string& keeper) {
  return list<wire::ListModels>(keeper, &wire::Reply::models);
}

Result<std::vector<ModelCopy>> list_copies(const std::string& keeper) {
  return list<wire::ListCopies>(keeper, &wire::Reply::copies);
}

Result<std::uint64_t> bytes_being_freed(const std::string& keeper,
                                        std::chrono::milliseconds patience) {
  AQUA_ASSIGN(KeeperClient client, KeeperClient::connect(keeper));
  const auto deadline = deadline_after(patience);
  for (;;) {
    const bool last = std::chrono::steady_clock::now() >= deadline;
    AQUA_ASSIGN(const auto answer, client.call(wire::Freeing{.wait = !last}));
    if (last || answer.fds.size() != 1) return answer.reply.freeing;
    AQUA_TRY(client.wait_for(answer.fds.front().get(), deadline));
  }
}

Result<void> drop_copies(const std::string& model, const std::string& version,
                         const std::string& device, const std::string& keeper) {
  AQUA_ASSIGN(const DeviceUuid uuid, parse_id<DeviceTag>(device));
  AQUA_ASSIGN(KeeperClient client, KeeperClient::connect(keeper));
  AQUA_TRY(client.call(wire::Drop{.model = model, .version = version, .device = uuid}));
  return {};
}

Result<void> retire_model(const std::string& model, const std::string& version,
                          const std::string& keeper) {
  AQUA_ASSIGN(KeeperClient client, KeeperClient::connect(keeper));
  AQUA_TRY(client.call(wire::Retire{.model = model, .version = version}));
  return {};
}

}  // namespace aqua::sharing
