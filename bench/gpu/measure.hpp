// How a copy is timed: a gate kernel holds the stream until all is queued; destination
// overwritten before, compared after; ways that are compared take turns.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gpu/bench_kernels.hpp"
#include "gpu/block_list.hpp"
#include "gpu/cuda_objects.hpp"

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

// One way to move bytes.
struct Way {
  std::string name;
  std::function<void(cudaStream_t)> queue;
  std::size_t commands = 1;                     // that it queues
  std::vector<const BlockList*> moves{};        // for the comparison
  std::vector<std::span<std::byte>> cleared{};  // what it writes to
};

struct Samples {
  std::string name;
  double bytes = 0;
  bool gated = true;  // false: the driver's queue is too short; the time contains submission
  std::vector<double> seconds;
};

class Meter {
 public:
  explicit Meter(unsigned repetitions) : repetitions_(repetitions) {}
  // One warm-up of each, then `repetitions` of all in turn. Ends the program when a byte is
  // wrong.
  [[nodiscard]] std::vector<Samples> compare(const std::vector<Way>& ways);

 private:
  // Seconds; negative when the gate gave up.
  double time(const Way& way, bool gated);
  void clear(const Way& way);
  void verify(const Way& way);

  unsigned repetitions_;
  Stream stream_;
  Gate gate_;
  Event start_, stop_;
};

// Rates with quartiles, and the ratio to the first of `all`, which is the baseline.
[[nodiscard]] nlohmann::json rows(const std::vector<Samples>& all, const nlohmann::json& labels);

}  // namespace aqua::bench
