// SPDX-License-Identifier: Apache-2.0
#include "neighbours.hpp"

#include <unistd.h>

#include "daemon_program.hpp"
#include "must.hpp"

namespace aqua::example {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience{30};

Neighbours::Neighbours(const std::filesystem::path& coordinator, std::size_t lend_bytes,
                       RuntimeOptions borrower)
    : lend_bytes_(whole_slabs(lend_bytes)) {
  start(coordinator_, coordinator, "coordinator", "listening on");
  start(lender_, coordinator, "lender", "lent");
  open_runtime(std::move(borrower));
  await_leases();
}

Neighbours::~Neighbours() {
  runtime_.reset();
  if (!lender_) return;
  (void)lender_->send({{"do", "finish"}});
  (void)lender_->wait(kPatience);
}

void Neighbours::start(std::optional<ChildProcess>& process,
                       const std::filesystem::path& coordinator, const std::string& role,
                       const std::string& ready) {
  std::vector<std::string> arguments{std::filesystem::read_symlink("/proc/self/exe"),
                                     "--role=" + role, "--directory=" + directory_.path().string(),
                                     "--parent=" + std::to_string(::getpid()),
                                     "--lend-bytes=" + std::to_string(lend_bytes_)};
  if (!coordinator.empty()) arguments.push_back("--coordinator-binary=" + coordinator.string());
  process.emplace(role, arguments);
  await_line(*process, ready, kPatience);
}

void Neighbours::open_runtime(RuntimeOptions borrower) {
  if (borrower.device.empty()) borrower.device = "emu:1";
  borrower.coordinator = coordinator_address(directory_.path());
  borrower.max_peer_bytes = lend_bytes_;
  borrower.slab_bytes = kNeighbourSlabBytes;
  borrower.socket_directory = directory_.path();
  borrower.callbacks.on_budget = [this](const MemoryBudget&) {
    { const std::scoped_lock lock(mutex_); }  // no waiter is between its look and its wait
    budget_changed_.notify_all();
  };
  runtime_ = must(Runtime::open(borrower), "open");
}

void Neighbours::await_leases() {
  std::unique_lock lock(mutex_);
  const bool leased = budget_changed_.wait_for(
      lock, kPatience, [this] { return runtime_->status().peer.capacity_bytes >= lend_bytes_; });
  if (!leased) throw Failure("no leases: " + runtime_->status().last_error);
}

void Neighbours::ask_back() {
  if (!lender_->send({{"do", "reclaim"}})) throw Failure("the lender has ended");
}

std::optional<nlohmann::json> Neighbours::answer() {
  for (const std::string& line : lender_->lines().read(std::chrono::milliseconds(0)))
    return parse_line(line);
  if (lender_->lines().ended()) throw Failure("the lender has ended");
  return std::nullopt;
}

void Neighbours::await_reclaim() {
  await_line(*lender_, "reclaimed", kPatience);
}

void Neighbours::ask_to_lend() {
  if (!lender_->send({{"do", "lend"}})) throw Failure("the lender has ended");
}

}  // namespace aqua::example
