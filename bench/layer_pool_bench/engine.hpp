// SPDX-License-Identifier: Apache-2.0
// Engine posts steps of a model to a stream of an emulated device. Where the layers' KV is, and
// when it comes in, is its subclasses': all of it stays or some streams (PoolEngine), or some comes
// in when its turn is there (OnDemandEngine).
//
// Every block is stamped when it is written. A step compares the first and the last word of each
// block that it reads, check() every word. One that is not as it was written ends the program, when
// check() is asked.
//
// Threads: one. Owns: the stream. Must be gone before the runtime.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "aqua/layer_swap/layer_pool.hpp"
#include "aqua/runtime.hpp"
#include "call_time.hpp"
#include "layer_pool_bench/layer_work.hpp"
#include "layer_pool_bench/shape.hpp"

namespace aqua::bench {

using Blocks = std::vector<std::uint32_t>;

class Engine {
 public:
  // `blocks`: the most that there will ever be.
  Engine(Runtime& runtime, const Shape& shape, std::uint32_t blocks);
  virtual ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Posts a step that reads `reads`, which have stamps, and then writes `writes`, in every layer.
  void post(const Blocks& reads, const Blocks& writes, const StepLoad& load = {});
  [[nodiscard]] std::uint64_t posted() const { return posted_; }  // steps
  // Seconds of this thread's processor that the calls around layers took so far, without launches.
  [[nodiscard]] double calls_seconds() const { return calls_.seconds(); }
  // From now on post() waits for each layer's kernels before it begins the next.
  void set_in_step() { in_step_ = true; }
  // Waits until the kernels of the first so many steps have ended.
  void wait(std::uint64_t steps);
  void settle();  // until all work of the stream has ended

  // Reads all that has a stamp and compares every word. Answers how many bytes those are.
  std::size_t check();

  [[nodiscard]] Blocks stamped() const;  // blocks
  void moved(const std::vector<layer_swap::BlockMove>& moves);
  void forget(const Blocks& blocks);  // which hold nothing that is needed any more

  [[nodiscard]] Runtime& runtime() { return runtime_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] Stream stream() const { return stream_; }

 private:
  // A step in order: the lists are those of post().
  virtual void begin(const Blocks& reads, const Blocks& writes) = 0;
  virtual std::span<std::byte* const> begin_layer(std::uint32_t layer) = 0;
  virtual void end_layer(std::uint32_t layer) = 0;
  virtual void end(const StepLoad& load) = 0;

  void launch(std::uint32_t layer, std::span<std::byte* const> planes,
              const std::shared_ptr<const LayerWork>& work);

  Runtime& runtime_;
  const Shape shape_;
  const Stream stream_;
  Blocks stamps_;  // of each block, by what was written last; 0: none
  std::uint64_t posted_ = 0;
  CallTime calls_;
  bool every_word_ = false, in_step_ = false;
  std::atomic<std::uint64_t> wrong_ = 0;  // words, so far
  std::mutex mu_;
  std::condition_variable ended_cv_;
  std::uint64_t ended_ = 0;  // steps, by the last kernel of each; under mu_
};

// An engine whose KV is in a LayerPool.
class PoolEngine final : public Engine {
 public:
  PoolEngine(Runtime& runtime, const Shape& shape, const LayerPoolOptions& options);
  ~PoolEngine() override { settle(); }
  [[nodiscard]] LayerPool& pool() { return pool_; }

 private:
  void begin(const Blocks& reads, const Blocks& writes) override;
  std::span<std::byte* const> begin_layer(std::uint32_t layer) override;
  void end_layer(std::uint32_t layer) override;
  void end(const StepLoad& load) override;
  LayerPool pool_;
};

}  // namespace aqua::bench
