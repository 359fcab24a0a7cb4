// SPDX-License-Identifier: Apache-2.0
// The subproblem of column generation over buckets (buckets.hpp): which counts of each bucket, and
// which bytes between these models' least and largest, are worth most to a unit below a level.
//
// Threads: immutable once made. Borrows the cluster.
#pragma once

#include <vector>

#include "tools/place/exact/generation.hpp"
#include "tools/place/exact/patterns.hpp"

namespace aqua::place {

// The patterns of classes whose models have no bytes but a sign, up to H|N| = `highest`.
[[nodiscard]] Patterns patterns_by_net(const Kinds& kinds, Bytes highest, std::size_t most,
                                       long max_steps);

// Rows: of each class its models, then, where these differ in bytes, their bytes. These are told
// as shares: a model has -1 at its class's least bytes and 1 at the largest.
class BucketPricing {
 public:
  // Each class's models are ascending in bytes; `patterns` are all of patterns_by_net().
  BucketPricing(const Cluster& cluster, Kinds kinds, Patterns patterns);

  [[nodiscard]] const Kinds& kinds() const { return kinds_; }
  [[nodiscard]] std::vector<double> units() const;
  [[nodiscard]] std::vector<Generation::Row> rows() const;
  // The units of a placement.
  [[nodiscard]] std::vector<Generation::Column> columns_of(const Assignment& assignment) const;
  [[nodiscard]] Generation::Priced best(Bytes level, int type, const std::vector<double>& prices,
                                        double rent, std::size_t wanted) const;

  [[nodiscard]] Pattern pattern_of(const Generation::Column& column) const;
  // The sum of its models' shares in a class.
  [[nodiscard]] double share_of(const Generation::Column& column, int of_class) const;

 private:
  // In units of the largest H: a model of this class has `middle` + share * `half`.
  struct Bucket {
    double middle = 0, half = 0;
    int row = -1;  // of its bytes; -1: all have the same
  };
  struct Shares;  // what a pattern's models have, and what it is worth
  // False where no bytes of the pattern lie between -most and most.
  bool fit(const Pattern& pattern, double most, const std::vector<double>& prices,
           Shares& shares) const;
  [[nodiscard]] Generation::Column column(const Pattern& pattern, const std::vector<double>& shares,
                                          Bytes value) const;
  [[nodiscard]] double share(const Bucket& bucket, int model) const;

  const Cluster& cluster_;
  const Kinds kinds_;
  const double scale_;
  std::vector<Bucket> buckets_;
  int rows_ = 0;
  std::vector<std::vector<Pattern>> patterns_;  // by type, value: H|N|
};

}  // namespace aqua::place
