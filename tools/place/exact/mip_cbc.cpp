// SPDX-License-Identifier: Apache-2.0
#include "tools/place/exact/mip_cbc.hpp"

#include <Cbc_C_Interface.h>

#include <ClpSimplex.hpp>
#include <algorithm>

#include "base/concat.hpp"

namespace aqua::place {
namespace {

struct Delete {
  void operator()(Cbc_Model* model) const { Cbc_deleteModel(model); }
};
using Owned = std::unique_ptr<Cbc_Model, Delete>;

// The arrays that both solvers load.
struct Arrays {
  std::vector<CoinBigIndex> start{0};
  std::vector<int> index;
  std::vector<double> value, lower, upper, cost, row_lower, row_upper;

  explicit Arrays(const LinearProgram& program) {
    for (const auto& column : program.columns) {
      for (const auto& [row, coefficient] : column.entries) {
        index.push_back(row);
        value.push_back(coefficient);
      }
      start.push_back(static_cast<CoinBigIndex>(index.size()));
      lower.push_back(column.lower);
      upper.push_back(column.upper);
      cost.push_back(column.cost);
    }
    for (const auto& row : program.rows) {
      row_lower.push_back(row.lower);
      row_upper.push_back(row.upper);
    }
  }
  [[nodiscard]] int columns() const { return static_cast<int>(cost.size()); }
  [[nodiscard]] int rows() const { return static_cast<int>(row_lower.size()); }
};

// CBC's C interface has no duals: linear programs go to its simplex, Clp, directly.
MipOutcome solve_linear(const Arrays& arrays, double seconds) {
  MipOutcome outcome;
  ClpSimplex simplex;
  simplex.setLogLevel(0);
  simplex.loadProblem(arrays.columns(), arrays.rows(), arrays.start.data(), arrays.index.data(),
                      arrays.value.data(), arrays.lower.data(), arrays.upper.data(),
                      arrays.cost.data(), arrays.row_lower.data(), arrays.row_upper.data());
  simplex.setMaximumSeconds(seconds);
  simplex.initialSolve();
  if (simplex.isProvenPrimalInfeasible()) outcome.status = MipStatus::infeasible;
  if (!simplex.isProvenOptimal()) return outcome;
  outcome.status = MipStatus::optimal;
  outcome.cost = outcome.bound = simplex.getObjValue();
  outcome.values.assign(simplex.getColSolution(), simplex.getColSolution() + arrays.columns());
  outcome.duals.assign(simplex.getRowPrice(), simplex.getRowPrice() + arrays.rows());
  return outcome;
}

class Cbc final : public MipSolver {
 public:
  std::string name() const override { return concat("cbc ", Cbc_getVersion()); }

 private:
  MipOutcome solve_within(const LinearProgram& program, double seconds) override {
    const Arrays arrays(program);
    const bool integer = std::any_of(program.columns.begin(), program.columns.end(),
                                     [](const auto& column) { return column.integer; });
    if (!integer) return solve_linear(arrays, seconds);
    const Owned model(Cbc_newModel());
    Cbc_loadProblem(model.get(), arrays.columns(), arrays.rows(), arrays.start.data(),
                    arrays.index.data(), arrays.value.data(), arrays.lower.data(),
                    arrays.upper.data(), arrays.cost.data(), arrays.row_lower.data(),
                    arrays.row_upper.data());
    for (int c = 0; c < arrays.columns(); ++c) {
      if (program.columns[static_cast<std::size_t>(c)].integer) Cbc_setInteger(model.get(), c);
    }
    Cbc_setLogLevel(model.get(), 0);
    Cbc_setParameter(model.get(), "log", "0");
    Cbc_setParameter(model.get(), "slog", "0");
    Cbc_setParameter(model.get(), "timeMode", "elapsed");
    Cbc_setParameter(model.get(), "sec", concat(seconds).c_str());
    Cbc_solve(model.get());
    return read(model.get(), arrays);
  }

  static MipOutcome read(Cbc_Model* model, const Arrays& arrays) {
    MipOutcome outcome;
    if (Cbc_isProvenInfeasible(model) != 0) {
      outcome.status = MipStatus::infeasible;
      return outcome;
    }
    const bool optimal = Cbc_isProvenOptimal(model) != 0;
    outcome.bound = Cbc_getBestPossibleObjValue(model);
    const double* values =
        optimal || Cbc_numberSavedSolutions(model) > 0 ? Cbc_bestSolution(model) : nullptr;
    if (values == nullptr) return outcome;
    outcome.values.assign(values, values + arrays.columns());
    outcome.status = optimal ? MipStatus::optimal : MipStatus::feasible;
    for (std::size_t c = 0; c < outcome.values.size(); ++c) {
      outcome.cost += arrays.cost[c] * outcome.values[c];
    }
    if (optimal) outcome.bound = outcome.cost;
    return outcome;
  }
};

}  // namespace

std::unique_ptr<MipSolver> make_cbc() {
  return std::make_unique<Cbc>();
}

}  // namespace aqua::place
