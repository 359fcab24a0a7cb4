// SPDX-License-Identifier: Apache-2.0
// Server patterns: how many models of each class a unit holds. Models with equal bytes and shards
// are one class and units of equal make one type, so that a program over patterns has none of the
// symmetry of one over models and servers.
//
// Threads: pure functions.
#pragma once

#include <optional>
#include <vector>

#include "tools/place/exact/pack.hpp"
#include "tools/place/model/cluster.hpp"

namespace aqua::place {

struct ModelClass {
  Bytes bytes = 0;
  int shards = 0;
  int apart = -1;
  int current = -1;         // only where single models are told apart (Kinds::exact_moves)
  std::vector<int> models;  // not fixed; ascending

  [[nodiscard]] int sign() const { return sign_of(bytes); }
};

struct UnitType {
  std::vector<int> units;
  std::vector<int> fixed;     // the models fixed in each, the same for all `units`
  std::vector<PackBin> bins;  // its servers, with what `fixed` has taken
  Load base;                  // of `fixed`
  Bytes hbm_bytes = 0;
  int free = 0;
};

// Classes and types of a cluster.
struct Kinds {
  std::vector<ModelClass> classes;
  std::vector<UnitType> types;
  int slack = 0;  // GPUs that stay empty

  // exact_moves: units, and models that now run on different servers, are told apart, so that a
  // program can count moves.
  [[nodiscard]] static Kinds of(const Cluster& cluster, bool exact_moves = false);
};

struct Pattern {
  int type = 0;
  std::vector<std::pair<int, int>> counts;  // class, how many; ascending
  Bytes value = 0;
};

struct Patterns {
  std::vector<Pattern> all;
  bool complete = true;  // every pattern of at most the given value is there
};

// Those of at most `largest_value`; stops, incomplete, at `most` patterns or `max_steps` of search.
[[nodiscard]] Patterns enumerate(const Kinds& kinds, Bytes largest_value, std::size_t most,
                                 long max_steps);

// The pattern of each unit, in order, in a placement of all models.
[[nodiscard]] std::vector<Pattern> patterns_of(const Cluster& cluster, const Kinds& kinds,
                                               const Assignment& assignment);

// Bytes served from peers in a unit that holds this pattern.
[[nodiscard]] Bytes served_by(const Cluster& cluster, const Kinds& kinds, const Pattern& pattern);

// The assignment that gives each unit of type t a pattern; chosen[p] units get patterns[p].
[[nodiscard]] Assignment assign(const Cluster& cluster, const Kinds& kinds,
                                const std::vector<Pattern>& patterns,
                                const std::vector<int>& chosen);

}  // namespace aqua::place
