// SPDX-License-Identifier: Apache-2.0
#include "aqua/sharing/models.hpp"

#include <iterator>

#include "base/try.hpp"
#include "systems/sharing/act/keeper_client.hpp"

namespace aqua::sharing {

Result<std::vector<ModelStatus>> list_models(const std::string& keeper) {
  AQUA_ASSIGN(KeeperClient client, KeeperClient::connect(keeper));
  std::vector<ModelStatus> models;
  for (bool more = true; more;) {
    const auto first = static_cast<std::uint32_t>(models.size());
    AQUA_ASSIGN(auto part, client.call(wire::ListModels{.first = first}));
    more = part.reply.more && !part.reply.models.empty();
    models.insert(models.end(), std::make_move_iterator(part.reply.models.begin()),
                  std::make_move_iterator(part.reply.models.end()));
  }
  return models;
}

Result<void> retire_model(const std::string& model, const std::string& version,
                          const std::string& keeper) {
  AQUA_ASSIGN(KeeperClient client, KeeperClient::connect(keeper));
  AQUA_TRY(client.call(wire::Retire{.model = model, .version = version}));
  return {};
}

}  // namespace aqua::sharing
