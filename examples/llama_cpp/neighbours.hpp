// Neighbours: the other processes of this example, a coordinator and a lender, and the runtime
// that borrows from it.
//
// Threads: one; spawn on the main thread. Owns: the processes and the runtime.
// Errors:  every call throws Failure.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "aqua/runtime.hpp"
#include "child_process.hpp"
#include "options.hpp"
#include "workplace.hpp"

namespace aqua::llama_example {

class Neighbours {
 public:
  // `tensor_bytes`: the most that will be parked at once. Returns once so much is leased.
  Neighbours(const Options& options, std::size_t tensor_bytes);
  ~Neighbours();
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;

  [[nodiscard]] Runtime& runtime() { return *runtime_; }
  [[nodiscard]] pid_t lender_pid() const { return lender_->pid(); }
  [[nodiscard]] std::size_t lent_bytes() const { return lend_bytes_; }

  // The lender takes all of its memory back; the engine goes on meanwhile.
  void ask_back();
  // What it answered, once it has.
  [[nodiscard]] std::optional<nlohmann::json> answer();
  // The lender lends again; returns at once.
  void ask_to_lend();
  // Waits until all that is lent is leased to this process.
  void await_leases();

 private:
  void start(std::optional<example::ChildProcess>& process, const Options& options,
             const std::string& role, const std::string& ready);
  void open_runtime(std::size_t tensor_bytes);

  example::PrivateDirectory directory_;
  std::size_t lend_bytes_;
  std::optional<example::ChildProcess> coordinator_, lender_;
  std::mutex mutex_;
  std::condition_variable budget_changed_;
  std::unique_ptr<Runtime> runtime_;
};

}  // namespace aqua::llama_example
