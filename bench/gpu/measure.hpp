// SPDX-License-Identifier: Apache-2.0
// How a copy is timed, twice by turns: the stream held behind a gate kernel until all is queued, by
// events of the GPU's; and on an idle stream, by the host's clock from before the first command is
// posted until the stream is seen idle. The first is what copies take behind an engine's work, the
// second what they take with the host's posting, which holds for all ways alike: those with more
// commands than a queue holds cannot be gated. Destination overwritten before, compared after; ways
// that are compared take turns.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpu/bench_kernels.hpp"
#include "gpu/block_list.hpp"
#include "gpu/cuda_objects.hpp"
#include "gpu/rows.hpp"

namespace aqua::bench {

class Gate {
 public:
  Gate();
  // Work queued after this waits for open(), but no longer than two seconds.
  void close(cudaStream_t stream);
  void open();
  // Whether it held until open(); once its stream is idle.
  [[nodiscard]] bool held() const { return flags().gave_up == 0; }

 private:
  [[nodiscard]] GateFlags& flags() const { return *reinterpret_cast<GateFlags*>(memory_.data()); }
  Buffer memory_;
};

// One way to move bytes, as the meter runs it. Times are of `queue` alone, until its work is done.
struct CopyTask {
  std::string name;
  std::function<void(cudaStream_t)> queue;
  std::size_t commands = 1;                      // that it queues
  std::vector<const BlockList*> moves{};         // for the comparison
  std::vector<std::span<std::byte>> cleared{};   // what it writes to
  std::function<void()> prepare{};               // before each time, if any
  std::function<void()> finish{};                // once the stream is idle, if any
  std::function<std::string()> chosen{};         // of ways that choose: what the last time took
  std::function<device::CopyCounts()> counts{};  // of ways of the library: its device's
};

class Meter {
 public:
  explicit Meter(unsigned repetitions) : repetitions_(repetitions) {}
  // One warm-up of each, then `repetitions` of all in turn. Ends the program when a byte is
  // wrong.
  [[nodiscard]] std::vector<Samples> compare(const std::vector<CopyTask>& tasks);

 private:
  struct Times {
    double events, posted;  // seconds
    bool held;              // false: the gate gave up
  };
  // Where a way may write nothing, of all that is overwritten before it.
  class Between {
   public:
    explicit Between(const CopyTask& task);
    [[nodiscard]] const Gap* gaps() const {
      return count_ == 0 ? nullptr : reinterpret_cast<const Gap*>(on_device_->data());
    }
    [[nodiscard]] std::size_t count() const { return count_; }

   private:
    std::size_t count_ = 0;
    std::optional<Buffer> on_device_;
  };
  Times time(const CopyTask& task, bool gated);
  // Overwritten before and compared after, also between the blocks.
  Times verified(const CopyTask& task, const Between& between, bool gated);
  void clear(const CopyTask& task);
  void verify(const CopyTask& task, const Between& between);

  unsigned repetitions_;
  Stream stream_;
  Gate gate_;
  Event start_, stop_;
};

}  // namespace aqua::bench
