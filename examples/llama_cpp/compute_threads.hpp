// SPDX-License-Identifier: Apache-2.0
// ComputeThreads compute ggml's graphs, and stay between them. Without them ggml starts threads for
// each graph, of which there are several a layer where layers are swapped: on a kernel that begins
// a thread on its parent's core both spin there, for a time slice at each barrier.
//
// Threads: for one graph at a time.
#pragma once

#include <ggml-cpu.h>

#include <memory>

#include "must.hpp"

namespace aqua::llama_example {

class ComputeThreads {
 public:
  // `count` of them, with the one that computes. Throws Failure.
  explicit ComputeThreads(int count) : count_(count) {
    ggml_threadpool_params params = ggml_threadpool_params_default(count);
    params.poll = 0;  // who has nothing to compute leaves its core to others
    pool_.reset(ggml_threadpool_new(&params));
    if (!pool_) throw example::Failure("ggml has no threads to compute with");
  }
  [[nodiscard]] ggml_threadpool_t get() const { return pool_.get(); }
  [[nodiscard]] int count() const { return count_; }

 private:
  struct Free {
    void operator()(ggml_threadpool* p) const { ggml_threadpool_free(p); }
  };
  int count_;
  std::unique_ptr<ggml_threadpool, Free> pool_;
};

}  // namespace aqua::llama_example
