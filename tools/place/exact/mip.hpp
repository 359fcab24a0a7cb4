// SPDX-License-Identifier: Apache-2.0
// One interface to mixed-integer linear programs, whichever solver is installed.
//
// Threads: a MipSolver may be used by one thread at a time.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aqua/result.hpp"
#include "tools/place/model/deadline.hpp"

namespace aqua::place {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Minimise cost under row limits.
struct LinearProgram {
  struct Column {
    double cost = 0;
    double lower = 0;
    double upper = kInfinity;
    bool integer = true;
    std::vector<std::pair<int, double>> entries{};  // row, coefficient; rows ascending
  };
  struct Row {
    double lower = 0;
    double upper = 0;
  };
  std::vector<Column> columns;
  std::vector<Row> rows;
};

enum class MipStatus {
  optimal,
  feasible,    // stopped at the time limit with a solution
  infeasible,  // proven
  unknown,     // stopped at the time limit without one, or the solver failed
};

struct MipOutcome {
  MipStatus status = MipStatus::unknown;
  std::vector<double> values{};  // optimal and feasible
  std::vector<double> duals{};   // optimal, and no column is integer
  double cost = 0;
  double bound = -kInfinity;  // no solution costs less

  [[nodiscard]] bool solved() const {
    return status == MipStatus::optimal || status == MipStatus::feasible;
  }
};

class MipSolver {
 public:
  virtual ~MipSolver() = default;
  [[nodiscard]] virtual std::string name() const = 0;  // with its version
  // Blocks for about what is left of the deadline at most. Deterministic, unless that ends it
  // early: then the deadline knows. So it does where the outcome is unknown for another reason.
  [[nodiscard]] MipOutcome solve(const LinearProgram& program, const Deadline& deadline);

 private:
  [[nodiscard]] virtual MipOutcome solve_within(const LinearProgram& program, double seconds) = 0;
};

// The solvers that this build knows, best first: "cbc" where it was found.
[[nodiscard]] std::vector<std::string_view> mip_solvers();
// "auto": the first one. unimplemented when this build does not have it.
[[nodiscard]] Result<std::unique_ptr<MipSolver>> open_mip_solver(std::string_view name);

}  // namespace aqua::place
