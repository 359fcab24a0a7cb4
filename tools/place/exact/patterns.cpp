// SPDX-License-Identifier: Apache-2.0
#include "tools/place/exact/patterns.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "tools/place/model/score.hpp"

namespace aqua::place {
namespace {

// One unit type's patterns, class by class.
class Enumeration {
 public:
  Enumeration(const Kinds& kinds, int type, Bytes largest, std::size_t most, long& steps,
              Patterns& out)
      : kinds_(kinds),
        type_(kinds.types[static_cast<std::size_t>(type)]),
        index_(type),
        largest_(largest),
        most_(most),
        steps_(steps),
        out_(out) {
    for (const ModelClass& c : kinds.classes) {
      most_lent_ = std::max(most_lent_, c.bytes);
      most_needed_ = std::max(most_needed_, -c.bytes);
    }
  }
  void run() { visit(0, type_.free, type_.base); }

 private:
  // No pattern from here on can have a smaller value.
  [[nodiscard]] Bytes least(int free, const Load& load) const {
    const Bytes net = std::max<Bytes>(0, (load.net < 0 ? -load.net : load.net) - free);
    const Bytes bytes = load.bytes > 0 ? std::max<Bytes>(0, load.bytes - free * most_needed_)
                                       : std::max<Bytes>(0, -load.bytes - free * most_lent_);
    return type_.hbm_bytes * net + bytes;
  }
  void visit(std::size_t c, int free, const Load& load) {
    if (!out_.complete) return;
    if (--steps_ < 0 || out_.all.size() >= most_) {
      out_.complete = false;
      return;
    }
    if (least(free, load) > largest_) return;
    if (c == kinds_.classes.size()) return finish(free, load);
    const ModelClass& kind = kinds_.classes[c];
    const int room = std::min(static_cast<int>(kind.models.size()), free / kind.shards);
    Load with = load;
    for (int n = 0; n <= room; ++n) {
      if (n > 0) {
        with.bytes += kind.bytes * kind.shards;
        with.net += static_cast<std::int64_t>(kind.sign()) * kind.shards;
        counts_.emplace_back(static_cast<int>(c), n);
      }
      visit(c + 1, free - n * kind.shards, with);
      if (n > 0) counts_.pop_back();
    }
  }
  void finish(int free, const Load& load) {
    const Bytes value = load.value(type_.hbm_bytes);
    if (free > kinds_.slack || value > largest_ || !packs()) return;
    out_.all.push_back({index_, counts_, value});
  }
  bool packs() {
    std::vector<PackItem> items;
    bool groups = false;
    for (const auto& [c, n] : counts_) {
      const ModelClass& kind = kinds_.classes[static_cast<std::size_t>(c)];
      groups = groups || kind.apart >= 0;
      items.insert(items.end(), static_cast<std::size_t>(n), {kind.shards, kind.apart});
    }
    if (type_.bins.size() == 1 && !groups) return true;
    bool gave_up = false;
    const bool fits = pack(items, type_.bins, &gave_up).has_value();
    if (gave_up) out_.complete = false;
    return fits;
  }

  const Kinds& kinds_;
  const UnitType& type_;
  int index_;
  Bytes largest_;
  std::size_t most_;
  long& steps_;
  Patterns& out_;
  Bytes most_lent_ = 0;
  Bytes most_needed_ = 0;
  std::vector<std::pair<int, int>> counts_;
};

using TypeKey = std::tuple<Bytes, std::vector<std::pair<int, Bytes>>, std::vector<int>>;

// A unit with fixed models is a type by itself; so is any that others may not stand in for.
std::vector<UnitType> types_of(const Cluster& cluster, bool each) {
  std::map<TypeKey, std::size_t> known;
  std::vector<std::vector<int>> fixed(cluster.units().size());
  for (std::size_t m = 0; m < cluster.models().size(); ++m) {
    const int server = cluster.fixed(static_cast<int>(m));
    if (server >= 0) {
      fixed[static_cast<std::size_t>(cluster.unit_of(server))].push_back(static_cast<int>(m));
    }
  }
  std::vector<UnitType> types;
  for (std::size_t u = 0; u < cluster.units().size(); ++u) {
    const Unit& unit = cluster.units()[u];
    TypeKey key{unit.hbm_bytes, {}, fixed[u]};
    for (const int s : unit.servers) {
      const Server& server = cluster.servers()[static_cast<std::size_t>(s)];
      std::get<1>(key).emplace_back(server.gpus, server.bandwidth_bytes);
    }
    if (each) std::get<2>(key).push_back(-1 - static_cast<int>(u));
    const auto [place, fresh] = known.try_emplace(std::move(key), types.size());
    if (fresh) {
      UnitType type;
      type.fixed = fixed[u];
      type.hbm_bytes = unit.hbm_bytes;
      for (const int s : unit.servers) {
        type.bins.push_back({cluster.servers()[static_cast<std::size_t>(s)].gpus});
      }
      for (const int m : fixed[u]) {
        const auto at = std::find(unit.servers.begin(), unit.servers.end(), cluster.fixed(m));
        PackBin& bin = type.bins[static_cast<std::size_t>(at - unit.servers.begin())];
        bin.free -= cluster.model(m).shards;
        if (cluster.apart(m) >= 0) bin.groups.push_back(cluster.apart(m));
        type.base.add(cluster.model(m));
      }
      for (const PackBin& bin : type.bins) type.free += bin.free;
      types.push_back(std::move(type));
    }
    types[place->second].units.push_back(static_cast<int>(u));
  }
  return types;
}

}  // namespace

Kinds Kinds::of(const Cluster& cluster, bool exact_moves) {
  Kinds kinds;
  // Large models first: the enumeration runs out of room early.
  std::map<std::tuple<int, Bytes, int, int>, ModelClass> classes;
  for (std::size_t m = 0; m < cluster.models().size(); ++m) {
    const int model = static_cast<int>(m);
    if (cluster.fixed(model) >= 0) continue;
    const Model& one = cluster.model(model);
    const int current = exact_moves ? cluster.current(model) : -1;
    ModelClass& c = classes[{-one.shards, one.bytes, cluster.apart(model), current}];
    c.bytes = one.bytes;
    c.shards = one.shards;
    c.apart = cluster.apart(model);
    c.current = current;
    c.models.push_back(model);
  }
  for (auto& [key, c] : classes) kinds.classes.push_back(std::move(c));
  kinds.types = types_of(cluster, exact_moves);
  kinds.slack = static_cast<int>(cluster.total_gpus() - cluster.total_shards());
  return kinds;
}

Patterns enumerate(const Kinds& kinds, Bytes largest_value, std::size_t most, long max_steps) {
  Patterns out;
  for (std::size_t t = 0; t < kinds.types.size(); ++t) {
    Enumeration(kinds, static_cast<int>(t), largest_value, most, max_steps, out).run();
  }
  return out;
}

std::vector<Pattern> patterns_of(const Cluster& cluster, const Kinds& kinds,
                                 const Assignment& assignment) {
  std::vector<int> class_of(cluster.models().size(), -1);
  for (std::size_t k = 0; k < kinds.classes.size(); ++k)
    for (const int m : kinds.classes[k].models)
      class_of[static_cast<std::size_t>(m)] = static_cast<int>(k);
  std::vector<std::map<int, int>> counts(cluster.units().size());
  for (std::size_t m = 0; m < assignment.size(); ++m)
    if (class_of[m] >= 0)
      ++counts[static_cast<std::size_t>(cluster.unit_of(assignment[m]))][class_of[m]];
  std::vector<Pattern> patterns(counts.size());
  for (std::size_t t = 0; t < kinds.types.size(); ++t) {
    for (const int u : kinds.types[t].units) {
      const auto& held = counts[static_cast<std::size_t>(u)];
      patterns[static_cast<std::size_t>(u)] = {.type = static_cast<int>(t),
                                               .counts = {held.begin(), held.end()}};
    }
  }
  return patterns;
}

Bytes served_by(const Cluster& cluster, const Kinds& kinds, const Pattern& pattern) {
  std::vector<int> models = kinds.types[static_cast<std::size_t>(pattern.type)].fixed;
  for (const auto& [c, n] : pattern.counts) {
    const auto& members = kinds.classes[static_cast<std::size_t>(c)].models;
    models.insert(models.end(), members.begin(), members.begin() + n);
  }
  return served_by(cluster, models);
}

Assignment assign(const Cluster& cluster, const Kinds& kinds, const std::vector<Pattern>& patterns,
                  const std::vector<int>& chosen) {
  Assignment assignment(cluster.models().size(), -1);
  for (std::size_t m = 0; m < assignment.size(); ++m) {
    assignment[m] = cluster.fixed(static_cast<int>(m));
  }
  std::vector<std::size_t> next_unit(kinds.types.size());
  std::vector<std::size_t> next_model(kinds.classes.size());
  for (std::size_t p = 0; p < patterns.size(); ++p) {
    for (int n = 0; n < chosen[p]; ++n) {
      const auto t = static_cast<std::size_t>(patterns[p].type);
      const UnitType& type = kinds.types[t];
      const Unit& unit = cluster.units()[static_cast<std::size_t>(type.units[next_unit[t]++])];
      std::vector<PackItem> items;
      std::vector<int> models;
      for (const auto& [c, count] : patterns[p].counts) {
        const auto k = static_cast<std::size_t>(c);
        const ModelClass& kind = kinds.classes[k];
        for (int i = 0; i < count; ++i) {
          items.push_back({kind.shards, kind.apart});
          models.push_back(kind.models[next_model[k]++]);
        }
      }
      const auto bins = pack(items, type.bins);
      for (std::size_t i = 0; i < models.size(); ++i) {
        const auto bin = static_cast<std::size_t>((*bins)[i]);
        assignment[static_cast<std::size_t>(models[i])] = unit.servers[bin];
      }
    }
  }
  return assignment;
}

}  // namespace aqua::place
