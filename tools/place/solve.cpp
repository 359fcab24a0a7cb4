// SPDX-License-Identifier: Apache-2.0
#include "tools/place/solve.hpp"

#include <algorithm>
#include <memory>
#include <optional>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "tools/place/exact/bottleneck.hpp"
#include "tools/place/exact/bound.hpp"
#include "tools/place/exact/buckets.hpp"
#include "tools/place/exact/columns.hpp"
#include "tools/place/exact/patterns.hpp"
#include "tools/place/exact/program.hpp"
#include "tools/place/model/conflict.hpp"
#include "tools/place/search/heuristic.hpp"

namespace aqua::place {
namespace {

constexpr std::size_t kManyClasses = 20;  // too many patterns to write down
// Steps of annealing: half a second in a small cluster, a few in one of a thousand units.
constexpr long kAnnealingSteps = 2'000'000;
constexpr long kAnnealingStepsAUnit = 8'000;

// The best placement so far, and what found it.
class Choice {
 public:
  explicit Choice(const Cluster& cluster) : cluster_(cluster) {}

  void offer(const Assignment& assignment, const char* method) {
    const Score score = score_of(cluster_, assignment);
    if (best_ && !score.better_than(score_, cluster_.problem().move_cost_bytes)) return;
    best_ = assignment;
    score_ = score;
    method_ = method;
  }
  [[nodiscard]] const std::optional<Assignment>& best() const { return best_; }
  [[nodiscard]] const Score& score() const { return score_; }
  [[nodiscard]] const char* method() const { return method_; }

 private:
  const Cluster& cluster_;
  std::optional<Assignment> best_;
  Score score_;
  const char* method_ = "";
};

bool runs_already(const Cluster& cluster) {
  for (std::size_t m = 0; m < cluster.models().size(); ++m) {
    if (cluster.current(static_cast<int>(m)) >= 0) return true;
  }
  return false;
}

void offer_frugal(const Cluster& cluster, Choice& choice, const Deadline& deadline) {
  Assignment now;
  for (std::size_t m = 0; m < cluster.models().size(); ++m) {
    now.push_back(cluster.current(static_cast<int>(m)));
  }
  const auto stay = construct(cluster, &now);
  if (!stay) return;
  choice.offer(*stay, "kept");
  choice.offer(improve_frugally(cluster, *stay, deadline), "kept, improved");
}

Error nothing_found(const Cluster& cluster, bool proven) {
  if (proven) {
    return Error{Code::failed_precondition,
                 concat("no placement: the shards of ", cluster.models().size(), " models, ",
                        cluster.total_shards(), " on ", cluster.total_gpus(),
                        " GPUs, cannot be divided so that each model has its shards on one server",
                        cluster.groups() > 0 ? " and the groups stay apart" : "",
                        " (proven by the solver)")};
  }
  return Error{Code::deadline_exceeded,
               "no placement found, and none excluded: give a longer --time-limit or free GPUs"};
}

void finish(const Cluster& cluster, const Choice& choice, Placement& placement) {
  placement.assignment = *choice.best();
  placement.score = choice.score();
  placement.method = choice.method();
  placement.pairs = match(cluster, placement.assignment);
}

Result<Placement> solve_naively(const Cluster& cluster, const Deadline& deadline) {
  AQUA_ASSIGN(const auto solver, open_mip_solver("auto"));
  Placement placement{.largest_hbm = cluster.largest_hbm()};
  placement.solver = solver->name();
  const MipOutcome outcome = solver->solve(naive_program(cluster), deadline);
  if (!outcome.solved()) {
    return nothing_found(cluster, outcome.status == MipStatus::infeasible);
  }
  placement.time_limit_hit = deadline.hit();
  const auto scale = static_cast<double>(cluster.largest_hbm());
  Choice choice(cluster);
  choice.offer(naive_assignment(cluster, outcome.values), "naive");
  finish(cluster, choice, placement);
  // Floating point: to a millionth, and never above what was found.
  const auto bound = static_cast<Bytes>(std::max(0.0, outcome.bound) * scale);
  const bool same = placement.score.objective - bound < cluster.largest_hbm() / 1'000'000;
  placement.bound = same && !placement.time_limit_hit ? placement.score.objective
                                                      : std::min(bound, placement.score.objective);
  return placement;
}

}  // namespace

double Placement::gap() const {
  return static_cast<double>(std::max<Bytes>(0, score.objective - bound)) /
         static_cast<double>(std::max(bound, largest_hbm));
}

Result<Placement> solve(const Cluster& cluster, const SolveOptions& options) {
  AQUA_TRY(check_conflicts(cluster));
  const Deadline deadline(options.time_limit_s);
  if (options.solver == "naive") return solve_naively(cluster, deadline);
  std::unique_ptr<MipSolver> solver;
  const bool wanted =
      options.solver != "heuristic" && !(options.solver == "auto" && mip_solvers().empty());
  if (wanted) {
    AQUA_ASSIGN(solver, open_mip_solver(options.solver));
  }
  Placement placement{.largest_hbm = cluster.largest_hbm()};
  placement.solver = solver ? solver->name() : "none";
  CountBound counted{.bound = simple_bound(cluster)};
  if (solver) counted = count_bound(cluster, *solver, deadline.part(1.0 / 3));
  placement.bound = counted.bound;
  Choice choice(cluster);
  const auto climb = [&](const std::optional<Assignment>& start, double share, const char* name) {
    if (!start) return;
    const Assignment better = improve(cluster, *start, placement.bound, deadline.part(share));
    choice.offer(settle(cluster, better), name);
  };
  const auto open = [&] { return choice.best() && choice.score().objective > placement.bound; };
  climb(counted.start, 0.5, "counts, improved");
  if (!choice.best() || open()) {
    climb(construct(cluster), solver ? 0.5 : 1.0, "heuristic");
  }
  if (solver && open() && Kinds::of(cluster).classes.size() > kManyClasses) {
    const CountBound closer =
        bucket_bound(cluster, *solver, placement.bound, *choice.best(), deadline.part(0.5));
    placement.bound = closer.bound;
    climb(closer.start, 0.7, "buckets, improved");
    if (open()) {
      const auto units = static_cast<long>(cluster.units().size());
      const long steps = std::max(kAnnealingSteps, kAnnealingStepsAUnit * units);
      climb(anneal(cluster, *choice.best(), placement.bound, steps, deadline.part(0.5)), 0.2,
            "annealed");
    }
    if (open()) {
      placement.bound =
          column_bound(cluster, *solver, placement.bound, *choice.best(), deadline.part(0.8));
    }
  }
  std::optional<Score> serves_most;  // proven: no placement of this objective serves more
  if (solver) {
    const auto incumbent = choice.best() ? std::optional(choice.score()) : std::nullopt;
    // A part: a solver ends a little after its limit, and the rest takes a moment.
    const Exact exact =
        solve_exactly(cluster, *solver, placement.bound, incumbent, deadline.part(0.8));
    if (exact.infeasible) return nothing_found(cluster, true);
    placement.bound = exact.bound;
    if (exact.assignment) {
      if (exact.served_best) serves_most = score_of(cluster, *exact.assignment);
      choice.offer(*exact.assignment, "patterns");
      choice.offer(settle(cluster, *exact.assignment), "patterns");
    }
  }
  if (!choice.best()) return nothing_found(cluster, false);
  if (runs_already(cluster)) offer_frugal(cluster, choice, deadline);
  // Where moves cost something, the choice may be one that moves fewer models and serves less.
  placement.served_best = serves_most && choice.score().objective <= serves_most->objective &&
                          choice.score().served >= serves_most->served;
  placement.time_limit_hit = deadline.hit();
  finish(cluster, choice, placement);
  return placement;
}

}  // namespace aqua::place
