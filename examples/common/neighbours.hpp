// SPDX-License-Identifier: Apache-2.0
// Neighbours: a coordinator and a lender as processes of one's own, started from this program
// (run_neighbour() is their main), and the runtime that borrows from the lender.
//
// Threads: one; make it on the main thread. Owns: the processes and the runtime.
// Errors:  every call throws Failure.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>

#include "aqua/runtime.hpp"
#include "child_process.hpp"
#include "workplace.hpp"

namespace aqua::example {

inline constexpr std::size_t kNeighbourSlabBytes = std::size_t{8} << 20;
[[nodiscard]] constexpr std::size_t whole_slabs(std::size_t bytes) {
  return (bytes + kNeighbourSlabBytes - 1) / kNeighbourSlabBytes * kNeighbourSlabBytes;
}

class Neighbours {
 public:
  // `lend_bytes` is rounded up to slabs. Of `borrower`, name, device ("emu:1" if empty), host_bytes
  // and emulated are the caller's; the rest is filled in. Returns once all is leased.
  Neighbours(const std::filesystem::path& coordinator, std::size_t lend_bytes,
             RuntimeOptions borrower);
  ~Neighbours();
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;

  [[nodiscard]] Runtime& runtime() { return *runtime_; }
  [[nodiscard]] pid_t lender_pid() const { return lender_->pid(); }
  [[nodiscard]] std::size_t lent_bytes() const { return lend_bytes_; }

  // The lender takes all of its memory back; the engine goes on meanwhile.
  void ask_back();
  // What it answered, once it has: {"bytes", "slabs", "first_ms", "last_ms"}.
  [[nodiscard]] std::optional<nlohmann::json> answer();
  // Waits for that answer, and for nothing in it.
  void await_reclaim();
  // The lender lends again; returns at once.
  void ask_to_lend();
  // Waits until all that is lent is leased to this process.
  void await_leases();

 private:
  void start(std::optional<ChildProcess>& process, const std::filesystem::path& coordinator,
             const std::string& role, const std::string& ready);
  void open_runtime(RuntimeOptions borrower);

  PrivateDirectory directory_;
  std::size_t lend_bytes_;
  std::optional<ChildProcess> coordinator_, lender_;
  std::mutex mutex_;
  std::condition_variable budget_changed_;
  std::optional<Runtime> runtime_;
};

}  // namespace aqua::example
