// SPDX-License-Identifier: Apache-2.0
#include "tools/place/exact/mip.hpp"

#include "base/concat.hpp"
#ifdef AQUA_HAVE_CBC
#include "tools/place/exact/mip_cbc.hpp"
#endif

namespace aqua::place {

MipOutcome MipSolver::solve(const LinearProgram& program, const Deadline& deadline) {
  MipOutcome outcome;
  if (!deadline.over()) outcome = solve_within(program, deadline.left());
  const bool proven =
      outcome.status == MipStatus::optimal || outcome.status == MipStatus::infeasible;
  if (!proven) deadline.cut_short();
  return outcome;
}

// A further solver (HiGHS, say) is one more file like mip_cbc.cpp and one more line in each.
std::vector<std::string_view> mip_solvers() {
#ifdef AQUA_HAVE_CBC
  return {"cbc"};
#else
  return {};
#endif
}

Result<std::unique_ptr<MipSolver>> open_mip_solver(std::string_view name) {
#ifdef AQUA_HAVE_CBC
  if (name == "auto" || name == "cbc") return make_cbc();
#endif
  std::string known;
  for (const std::string_view one : mip_solvers()) known += concat(known.empty() ? "" : ", ", one);
  return Error{Code::unimplemented,
               concat("solver '", name, "' is not in this build, which has: ",
                      known.empty() ? "none (install coinor-libcbc-dev and build again)" : known,
                      ". The heuristic is always there: --solver heuristic")};
}

}  // namespace aqua::place
