#include "neighbours.hpp"

#include <unistd.h>

#include <filesystem>

#include "coordinator_program.hpp"
#include "must.hpp"

namespace aqua::llama_example {

using example::Failure;
using example::must;
using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience{30};

namespace {

std::size_t whole_slabs(std::size_t bytes) {
  return (bytes + kSlabBytes - 1) / kSlabBytes * kSlabBytes;
}

}  // namespace

Neighbours::Neighbours(const Options& options, std::size_t tensor_bytes)
    // A sixteenth more, and two slabs: a tensor does not fit into what smaller ones leave over.
    : lend_bytes_(whole_slabs(tensor_bytes + tensor_bytes / 16 + 2 * kSlabBytes)) {
  start(coordinator_, options, "coordinator", "listening on");
  start(lender_, options, "lender", "lent");
  open_runtime(tensor_bytes);
  await_leases();
}

Neighbours::~Neighbours() {
  runtime_.reset();
  if (!lender_) return;
  (void)lender_->send({{"do", "finish"}});
  (void)lender_->wait(kPatience);
}

void Neighbours::start(std::optional<example::ChildProcess>& process, const Options& options,
                       const std::string& role, const std::string& ready) {
  std::vector<std::string> arguments{std::filesystem::read_symlink("/proc/self/exe"),
                                     "--role=" + role, "--directory=" + directory_.path().string(),
                                     "--parent=" + std::to_string(::getpid()),
                                     "--lend-bytes=" + std::to_string(lend_bytes_)};
  if (!options.coordinator.empty())
    arguments.push_back("--coordinator-binary=" + options.coordinator.string());
  process.emplace(role, arguments);
  for (const auto deadline = Clock::now() + kPatience; Clock::now() < deadline;) {
    for (const std::string& line : process->lines().read(std::chrono::milliseconds(200))) {
      if (line.find(ready) != std::string::npos) return;
    }
    if (process->lines().ended()) throw Failure("the " + role + " has ended");
  }
  throw Failure("the " + role + " does not start");
}

void Neighbours::open_runtime(std::size_t tensor_bytes) {
  RuntimeOptions wanted;
  wanted.device = "emu:1";
  wanted.coordinator = example::coordinator_address(directory_.path());
  wanted.name = "llama.cpp";
  wanted.host_bytes = whole_slabs(lend_bytes_ + tensor_bytes / 8);  // an exit for every tensor
  wanted.max_peer_bytes = lend_bytes_;
  wanted.slab_bytes = kSlabBytes;
  wanted.socket_directory = directory_.path();
  // What is outside tensors: the paged cache of the blocks' test.
  wanted.emulated.total_bytes = whole_slabs(2 * tensor_bytes + (std::size_t{64} << 20));
  wanted.callbacks.on_budget = [this](const MemoryBudget&) {
    { const std::scoped_lock lock(mutex_); }  // no waiter is between its look and its wait
    budget_changed_.notify_all();
  };
  runtime_ = must(Runtime::open(wanted), "open");
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
    return example::parse_line(line);
  if (lender_->lines().ended()) throw Failure("the lender has ended");
  return std::nullopt;
}

void Neighbours::ask_to_lend() {
  if (!lender_->send({{"do", "lend"}})) throw Failure("the lender has ended");
}

}  // namespace aqua::llama_example
