// SPDX-License-Identifier: Apache-2.0
#include "tools/place/model/cluster.hpp"

#include <algorithm>
#include <map>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::place {
namespace {

using Names = std::map<std::string, int, std::less<>>;

Error bad(std::string what) {
  return Error{Code::invalid_argument, std::move(what)};
}

template <typename Rows>
Result<Names> index_of(const Rows& rows, const char* kind) {
  Names names;
  for (const auto& row : rows) {
    if (row.id.empty()) return bad(concat(kind, " ", names.size(), ": empty id"));
    const int index = static_cast<int>(names.size());
    if (!names.emplace(row.id, index).second) return bad(concat(kind, " '", row.id, "' twice"));
  }
  return names;
}

Result<int> find(const Names& servers, const std::string& wanted, const Model& model,
                 const char* field) {
  if (wanted.empty()) return -1;
  const auto found = servers.find(wanted);
  if (found != servers.end()) return found->second;
  return bad(concat("model '", model.id, "': ", field, ": no server '", wanted, "'"));
}

// Pairs name shards as "model/0", "model/1" …: no model may be called so.
Result<void> check_shard_names(const std::vector<Model>& models, const Names& names) {
  for (const Model& model : models) {
    const std::size_t slash = model.id.rfind('/');
    if (slash == std::string::npos) continue;
    const auto whole = names.find(std::string_view(model.id).substr(0, slash));
    if (whole == names.end()) continue;
    const Model& other = models[static_cast<std::size_t>(whole->second)];
    for (int shard = 0; other.shards > 1 && shard < other.shards; ++shard) {
      if (model.id == concat(other.id, "/", shard))
        return bad(concat("model '", model.id, "' is called as a shard of '", other.id, "' is"));
    }
  }
  return {};
}

Result<void> check_range(const Server& server) {
  if (server.gpus < 1 || server.gpus > kMaxGpus) {
    return bad(concat("server '", server.id, "': gpus: ", server.gpus, ", not 1 to ", kMaxGpus));
  }
  if (server.hbm_bytes < 1 || server.hbm_bytes > kMaxBytes) {
    return bad(concat("server '", server.id, "': hbm_bytes: ", server.hbm_bytes, ", not 1 to ",
                      kMaxBytes));
  }
  return {};
}

Result<void> check_range(const Model& model) {
  if (model.shards < 1 || model.shards > kMaxGpus) {
    return bad(concat("model '", model.id, "': shards: ", model.shards, ", not 1 to ", kMaxGpus));
  }
  if (model.bytes < -kMaxBytes || model.bytes > kMaxBytes) {
    return bad(concat("model '", model.id, "': bytes: ", model.bytes, ", more than ", kMaxBytes));
  }
  return {};
}

}  // namespace

Result<Cluster> Cluster::make(Problem problem) {
  Cluster c;
  c.problem_ = std::move(problem);
  if (c.servers().empty()) return bad("servers: none");
  AQUA_ASSIGN(const Names servers, index_of(c.servers(), "server"));
  AQUA_ASSIGN(const Names models, index_of(c.models(), "model"));
  Names domains;
  for (const Server& server : c.servers()) {
    AQUA_TRY(check_range(server));
    const int self = static_cast<int>(c.unit_of_.size());
    const int fresh = static_cast<int>(c.units_.size());
    const int unit =
        server.domain.empty() ? fresh : domains.try_emplace(server.domain, fresh).first->second;
    if (unit == fresh) c.units_.emplace_back();
    Unit& u = c.units_[static_cast<std::size_t>(unit)];
    u.servers.push_back(self);
    u.gpus += server.gpus;
    u.hbm_bytes = std::max(u.hbm_bytes, server.hbm_bytes);
    c.unit_of_.push_back(unit);
    c.total_gpus_ += server.gpus;
    c.largest_hbm_ = std::max(c.largest_hbm_, server.hbm_bytes);
    if (c.total_gpus_ > kMaxGpus) return bad(concat("servers: more than ", kMaxGpus, " GPUs"));
  }
  Names groups;
  for (const Model& model : c.models()) {
    AQUA_TRY(check_range(model));
    AQUA_ASSIGN(const int current, find(servers, model.current, model, "current"));
    AQUA_ASSIGN(const int fixed, find(servers, model.fixed, model, "fixed"));
    c.current_.push_back(current);
    c.fixed_.push_back(fixed);
    const int group = static_cast<int>(groups.size());
    c.apart_.push_back(model.apart.empty() ? -1
                                           : groups.try_emplace(model.apart, group).first->second);
    c.total_shards_ += model.shards;
    if (c.total_shards_ > kMaxGpus) return bad(concat("models: more than ", kMaxGpus, " shards"));
  }
  c.groups_ = static_cast<int>(groups.size());
  AQUA_TRY(check_shard_names(c.models(), models));
  return c;
}

}  // namespace aqua::place
