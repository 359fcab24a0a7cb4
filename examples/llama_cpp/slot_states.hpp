// SPDX-License-Identifier: Apache-2.0
// SlotStates: a context of llama.cpp, the sequences of which are saved, restored and dropped. What
// engines have in common that preempt sequences or cache their beginnings.
//
// Threads: one at a time; save() and restore() may be called from another thread while no other
//          call is under way. Errors: every call throws Failure.
#pragma once

#include <llama.h>

#include <cstddef>
#include <memory>
#include <span>

#include "compute_threads.hpp"

namespace aqua::llama_example {

class SlotStates {
 public:
  SlotStates(const SlotStates&) = delete;
  SlotStates& operator=(const SlotStates&) = delete;

  // What save() will write.
  [[nodiscard]] std::size_t state_bytes(unsigned slot);
  void save(unsigned slot, std::span<std::byte> to);
  // Into a slot that is empty; it need not be the one that was saved.
  void restore(unsigned slot, std::span<const std::byte> from);
  // Forgets the tokens from position `from` on.
  void drop(unsigned slot, unsigned from = 0);

 protected:
  SlotStates(llama_model* model, const llama_context_params& params);
  ~SlotStates() = default;
  [[nodiscard]] llama_context* context() const { return context_.get(); }

 private:
  struct Free {
    void operator()(llama_context* c) const { llama_free(c); }
  };
  ComputeThreads threads_;
  std::unique_ptr<llama_context, Free> context_;
};

}  // namespace aqua::llama_example
