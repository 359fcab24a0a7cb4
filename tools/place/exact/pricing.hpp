// SPDX-License-Identifier: Apache-2.0
// Pricing: which model sets, each of which one unit could hold below a level, are worth most at
// given prices of the models. The subproblem of column generation (columns.hpp).
//
// Bytes are rounded to cells, and so is the level, upwards: what is found may lie a little above
// the level, but nothing below it is missed.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <vector>

#include "tools/place/exact/patterns.hpp"

namespace aqua::place {

class Pricing {
 public:
  // Whether the tables for it would be small enough.
  [[nodiscard]] static bool possible(const Kinds& kinds, const UnitType& type);
  // Prices models in units of one type, up to `level`. Both outlive this.
  Pricing(const Kinds& kinds, int type, Bytes level);

  struct Found {
    double most = 0;                // what the best set is worth
    std::vector<Pattern> patterns;  // worth more than `threshold`, different ones
  };
  // `prices` by class. At most `wanted` patterns.
  [[nodiscard]] Found best(const std::vector<double>& prices, double threshold, std::size_t wanted);

 private:
  struct Item {
    int kind = 0;  // its class
    int shards = 0;
    int net = 0;
    int cells = 0;
  };
  // The window of states with so many GPUs in use: the cells and net counts that such models can
  // come to, and from which the rest of the unit can still come below the level. No other state
  // matters.
  struct Window {
    int first = 0, last = 0;
    int least_net = 0, most_net = 0;
  };
  struct State {
    double worth = 0;
    std::size_t at = 0;
  };
  [[nodiscard]] std::size_t place(int used, int net, int cell) const;
  [[nodiscard]] Window window(int used, double least, double most) const;
  void fill(const std::vector<double>& prices);
  [[nodiscard]] std::vector<State> worth_more(double threshold, double& most) const;
  [[nodiscard]] Pattern pattern_at(std::size_t state) const;

  const Kinds& kinds_;
  const int type_;
  std::vector<Item> items_;
  int gpus_ = 0;
  int low_ = 0, cells_ = 0;  // the first cell, and how many
  double cell_bytes_ = 0;
  Bytes level_ = 0;
  std::vector<Window> windows_;       // by used GPUs
  std::vector<double> worth_;         // by used GPUs, net and cell
  std::vector<std::uint64_t> taken_;  // a bit for each item and state
};

}  // namespace aqua::place
