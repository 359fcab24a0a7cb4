// SPDX-License-Identifier: Apache-2.0
// Tenant is the engine of a node: it keeps stamps in its engine memory and in tensors,
// rewrites and reads them back without end, and remembers everything that was not as it
// should be. It looks at memory only as an engine does: by kernels, through pins.
//
// Threads: start() gives it one of its own; every method may be called concurrently.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "aqua/emulated.hpp"
#include "aqua/runtime.hpp"
#include "base/mutex.hpp"
#include "tests/kill/stamp.hpp"

namespace aqua::kill_test {

struct Findings {
  std::size_t passes = 0;
  std::size_t mismatches = 0;  // words of ours that have changed
  std::size_t strangers = 0;   // words of another tenant in memory given to us
  std::size_t lost = 0;        // data_loss
  std::size_t errors = 0;      // any other refusal
  std::string first;           // the first of all these, for people
};

class Tenant {
 public:
  struct Options {
    std::uint16_t tenant = 0;
    std::size_t engine_bytes = 0;
    std::size_t tensors = 0;
    std::size_t tensor_bytes = 0;
  };
  [[nodiscard]] static Result<std::unique_ptr<Tenant>> open(Runtime& runtime,
                                                            const Options& options);
  ~Tenant();
  Tenant(const Tenant&) = delete;
  Tenant& operator=(const Tenant&) = delete;

  void start();
  // Reads back everything there is, now.
  [[nodiscard]] Findings verify();
  // Fills what is left of the borrowed memory with new tensors, checks that nobody else's
  // bytes are in them, stamps them and frees them. Returns the bytes looked at that were a peer's.
  [[nodiscard]] std::size_t sweep(std::size_t most_bytes);

 private:
  struct Kept {
    AquaTensor tensor;
    Owner owner;
  };
  Tenant(Runtime& runtime, const Options& options, Stream stream);
  void run();
  void pass() AQUA_REQUIRES(mu_);
  [[nodiscard]] Result<void> add() AQUA_REQUIRES(mu_);
  void replace(Kept& kept) AQUA_REQUIRES(mu_);
  void rewrite(Kept& kept) AQUA_REQUIRES(mu_);
  void stamp_over(AquaTensor& tensor, const Owner& owner) AQUA_REQUIRES(mu_);
  void check(Kept& kept) AQUA_REQUIRES(mu_);
  void check_engine() AQUA_REQUIRES(mu_);
  // Whether the memory of a new tensor is free of others' bytes; its tier goes to `tier`.
  void check_fresh(AquaTensor& tensor, Tier& tier) AQUA_REQUIRES(mu_);
  // Runs `look` over the words of a tensor in a kernel, and waits for it.
  template <typename Look>
  [[nodiscard]] Result<Odd> look_at(AquaTensor& tensor, Tier& tier, Look look) AQUA_REQUIRES(mu_);
  void failed(const Error& error, const std::string& what) AQUA_REQUIRES(mu_);
  void found(std::size_t& counter, const Odd& odd, const std::string& what) AQUA_REQUIRES(mu_);

  Runtime& runtime_;
  const Options options_;
  const Stream stream_;
  Mutex mu_;
  CondVar stop_;
  bool stopping_ AQUA_GUARDED_BY(mu_) = false;
  std::minstd_rand random_ AQUA_GUARDED_BY(mu_);
  emulated::Memory engine_ AQUA_GUARDED_BY(mu_);
  Owner engine_owner_ AQUA_GUARDED_BY(mu_);
  std::vector<Kept> kept_ AQUA_GUARDED_BY(mu_);
  std::uint16_t next_object_ AQUA_GUARDED_BY(mu_) = 1;
  Findings findings_ AQUA_GUARDED_BY(mu_);
  std::thread thread_;
};

}  // namespace aqua::kill_test
