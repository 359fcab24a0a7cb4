// SPDX-License-Identifier: Apache-2.0
// What shared weights save: time until an engine has them, and memory, against engines that each
// read the file into memory of their own (private), and against mapping the file (mmap), which a
// CPU can and a GPU cannot. Every engine is a process; the file is in the page cache.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aqua/published_memory.hpp"
#include "aqua/runtime.hpp"
#include "aqua/sharing/load_weights.hpp"
#include "aqua/sharing/models.hpp"
#include "aqua/sharing/shared_weights.hpp"
#include "forked_process.hpp"
#include "harness.hpp"
#include "report/goal.hpp"
#include "report/report_file.hpp"
#include "samples.hpp"

namespace {

using namespace aqua::literals;
using namespace aqua::bench;
using aqua::sharing::SharedWeights;
using Json = nlohmann::json;

constexpr std::size_t kPiece = 8_MiB;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kTensors = 32;

struct Options {
  std::string keeper;
  std::string json;
  std::size_t mib = 1024;
  unsigned engines = 4;
  unsigned rounds = 5;
};

// What a file of /proc says behind this word, in KiB there.
double bytes_in(const char* path, std::string_view key) {
  std::ifstream file(path);
  std::string word;
  double kib = 0;
  while (file >> word) {
    if (word == key) file >> kib;
  }
  return kib * 1024;
}
// The memory that this process maps, where what it shares is counted in parts.
double proportional_bytes() {
  return bytes_in("/proc/self/smaps_rollup", "Pss:");
}

enum class Way : std::uint8_t { shared, private_copy, mapped_file };
struct Order {
  Way way = Way::shared;
  enum : std::uint8_t { get, measure, drop } what = get;
};
struct Answer {
  double mapped = 0;   // seconds until it may be used
  double touched = 0;  // and until each page of it has been read
  double bytes = 0;    // that the process has more of than before
};

// An engine that gets the weights in one of the ways and drops them again.
class Engine {
 public:
  Engine(std::string file, std::size_t bytes, std::string keeper)
      : file_(std::move(file)), bytes_(bytes), keeper_(std::move(keeper)) {
    runtime_ = must(aqua::Runtime::open({.device = "emu:0",
                                         .coordinator = "none",
                                         .host_bytes = 2_MiB,
                                         .emulated = {.total_bytes = bytes + 1_GiB}}));
  }

  Answer obey(const Order& order) {
    if (order.what == Order::measure) return {.bytes = proportional_bytes() - before_};
    if (order.what == Order::drop) {
      weights_.reset();
      memory_.reset();
      if (map_ != nullptr) ::munmap(std::exchange(map_, nullptr), bytes_);
      return {};
    }
    before_ = proportional_bytes();
    Answer answer;
    const double start = now();
    const std::byte* const at = get(order.way);
    answer.mapped = now() - start;
    for (std::size_t i = 0; i < bytes_; i += kPage) sum_ = sum_ + static_cast<unsigned>(at[i]);
    answer.touched = now() - start;
    return answer;
  }

 private:
  const std::byte* get(Way way) {
    if (way == Way::shared) {
      weights_ = must(SharedWeights::attach(*runtime_, {.model = "w", .keeper = keeper_}));
      return weights_->tensor(0).address;
    }
    const int fd = ::open(file_.c_str(), O_RDONLY | O_CLOEXEC);
    if (way == Way::mapped_file) {
      map_ = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, fd, 0);
      ::close(fd);
      return static_cast<const std::byte*>(map_);
    }
    memory_ = must(aqua::PublishedMemory::create(*runtime_, {bytes_}));
    std::vector<std::byte> piece(kPiece);
    for (std::size_t i = 0; i < bytes_; i += kPiece) {
      if (::pread(fd, piece.data(), kPiece, static_cast<off_t>(i)) <= 0) std::exit(1);
      must(memory_->write(i, piece.data(), std::min(kPiece, bytes_ - i)));
    }
    ::close(fd);
    return memory_->address();
  }

  const std::string file_;
  const std::size_t bytes_;
  const std::string keeper_;
  std::optional<aqua::Runtime> runtime_;
  std::optional<SharedWeights> weights_;
  std::optional<aqua::PublishedMemory> memory_;
  void* map_ = nullptr;
  double before_ = 0;
  volatile unsigned sum_ = 0;
};

// Weights of kTensors tensors, as safetensors. Their bytes begin at a page, so that mapping the
// file is as good as it can be.
std::string write_file(const std::string& path, std::size_t bytes) {
  Json header;
  const std::size_t each = bytes / kTensors;
  for (std::size_t i = 0; i < kTensors; ++i) {
    header["blk." + std::to_string(i)] = {
        {"dtype", "U8"}, {"shape", {each}}, {"data_offsets", {i * each, (i + 1) * each}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + 8 + kPage - 1) / kPage * kPage - 8, ' ');
  std::ofstream file(path, std::ios::binary);
  const std::uint64_t length = text.size();
  file.write(reinterpret_cast<const char*>(&length), sizeof length);
  file << text;
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> piece(kPiece / 8);
  for (std::size_t i = 0; i < bytes; i += kPiece) {
    for (std::uint64_t& word : piece) word = random();
    file.write(reinterpret_cast<const char*>(piece.data()), kPiece);
  }
  return path;
}

class Bench {
 public:
  explicit Bench(const Options& options)
      : options_(options), bytes_(options.mib << 20), keeper_(options.keeper) {
    file_ = write_file(keeper_.directory() + "/w.safetensors", bytes_);
    for (unsigned i = 0; i < options.engines; ++i) {
      engines_.push_back(std::make_unique<ForkedProcess>([&](int in, int out) {
        Engine engine(file_, bytes_, keeper_.socket());
        Order order;
        while (::read(in, &order, sizeof order) == sizeof order) {
          const Answer answer = engine.obey(order);
          if (::write(out, &answer, sizeof answer) != sizeof answer) return;
        }
      }));
    }
  }

  // The newest first: each has inherited the pipes of those before it.
  ~Bench() {
    while (!engines_.empty()) engines_.pop_back();
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  Json run() {
    publish("1");
    Json report{{"weights_bytes", bytes_}, {"engines", options_.engines}};
    const std::vector<std::pair<const char*, Way>> ways{
        {"shared", Way::shared}, {"private", Way::private_copy}, {"mmap", Way::mapped_file}};
    std::map<std::string, std::vector<double>> mapped, touched, total;
    for (unsigned round = 0; round < options_.rounds; ++round) {
      for (const auto& [name, way] : ways) {
        for (const auto& engine : engines_) {
          const Answer got = ask(*engine, {way, Order::get});
          // The first engine of a round may find things cold; the last one is "the next engine".
          if (&engine == &engines_.back()) {
            mapped[name].push_back(got.mapped);
            touched[name].push_back(got.touched);
          }
        }
        double sum = 0;
        for (const auto& engine : engines_) sum += ask(*engine, {way, Order::measure}).bytes;
        total[name].push_back(sum / static_cast<double>(bytes_));
        for (const auto& engine : engines_) (void)ask(*engine, {way, Order::drop});
      }
    }
    for (const auto& [name, way] : ways) {
      report["rows"].push_back({{"way", name},
                                {"seconds_until_mapped", median(mapped[name])},
                                {"seconds_until_touched", median(touched[name])},
                                {"memory_over_weights", median(total[name])}});
    }
    const double back = median(times_back());
    report["seconds_until_memory_is_back"] = back;
    report["goals"] = {
        judge("ready with each page read, over private", Bound::at_most, 0.25,
              median(ratios(touched["shared"], touched["private"]))),
        judge("weight sizes saved over private", Bound::at_least,
              static_cast<double>(options_.engines) - 1.1,
              median(total["private"]) - median(total["shared"])),
        judge("memory over mmap's", Bound::at_most, 1.02,
              median(ratios(total["shared"], total["mmap"]))),
        judge("seconds until a superseded version's memory is back", Bound::at_most, 0.1, back)};
    return report;
  }

 private:
  static Answer ask(ForkedProcess& engine, const Order& order) {
    Answer answer;
    if (!engine.send(order) || !engine.receive(answer)) std::exit(1);
    return answer;
  }
  void publish(const std::string& version) {
    auto runtime = must(aqua::Runtime::open({.device = "emu:0",
                                             .coordinator = "none",
                                             .host_bytes = 2_MiB,
                                             .emulated = {.total_bytes = bytes_ + 1_GiB}}));
    must(aqua::sharing::load_weights(
        runtime, {file_}, {.model = "w", .version = version, .keeper = keeper_.socket()}));
  }
  static double shared_memory() { return bytes_in("/proc/meminfo", "Shmem:"); }
  // From the moment in which the last reader of a superseded version is told to drop it.
  std::vector<double> times_back() {
    std::vector<double> times;
    for (unsigned round = 0; round < options_.rounds; ++round) {
      (void)ask(*engines_[0], {Way::shared, Order::get});
      publish(std::to_string(2 + round));
      const double before = shared_memory();
      const double start = now();
      (void)ask(*engines_[0], {Way::shared, Order::drop});
      while (shared_memory() > before - 0.99 * static_cast<double>(bytes_)) {
        if (now() - start > 10) break;
      }
      times.push_back(now() - start);
    }
    return times;
  }

  const Options options_;
  const std::size_t bytes_;
  Keeper keeper_;
  std::string file_;
  std::vector<std::unique_ptr<ForkedProcess>> engines_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Time and memory until engines have weights: shared, private, mapped from a file.");
  app.add_option("--keeper-binary", options.keeper, "aqua-keeper")->required();
  app.add_option("--mib", options.mib, "of weights")->check(CLI::Range(64, 65536));
  app.add_option("--engines", options.engines)->check(CLI::Range(2, 16));
  app.add_option("--rounds", options.rounds)->check(CLI::Range(1, 1000));
  app.add_option("--json", options.json, "a file for the report");
  CLI11_PARSE(app, argc, argv);
  const Json report = Bench(options).run();
  for (const Json& row : report["rows"]) {
    std::printf("%-8s mapped %8.4f s, each page read %8.4f s, memory %.3f of the weights\n",
                row["way"].get<std::string>().c_str(), row["seconds_until_mapped"].get<double>(),
                row["seconds_until_touched"].get<double>(),
                row["memory_over_weights"].get<double>());
  }
  print_goals(report["goals"]);
  write_report(options.json, report);
  return 0;
}
