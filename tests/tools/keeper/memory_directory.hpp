// SPDX-License-Identifier: Apache-2.0
// A LogDirectory in memory whose power can be cut at any call. What was written and not synced is
// there afterwards in any part: of each write all, some or nothing, whatever the order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "tools/keeper/disk/blob_log.hpp"

namespace aqua::keeper::test {

using Bytes = std::vector<std::byte>;

// A log that is soon full, and its files too.
inline constexpr BlobLogOptions kSmall{.most_bytes = 4096, .file_bytes = 512};

// The disk, which outlives the directories that stand for processes.
struct MemoryDisk {
  struct Write {
    std::uint64_t offset = 0;
    Bytes bytes;
  };
  struct File {
    Bytes durable;
    std::vector<Write> pending;
    std::size_t discarded = 0;  // bytes
  };
  std::map<LogFile, File> files;
  std::size_t calls = 0;        // that changed something, or would have
  std::size_t cut_at = 0;       // at this call the power goes; 0: never
  std::size_t full_at = 0;      // this call and all writes after it find the disk full; 0: never
  bool discards = true;         // it can give back parts of files
  std::size_t room = SIZE_MAX;  // bytes of all files, less those that were discarded
  bool dark = false;

  static void apply(Bytes& content, std::uint64_t offset, std::span<const std::byte> bytes) {
    if (content.size() < offset + bytes.size()) content.resize(offset + bytes.size());
    std::ranges::copy(bytes, content.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  [[nodiscard]] Bytes now(LogFile file) const {
    Bytes content = files.at(file).durable;
    for (const Write& write : files.at(file).pending) apply(content, write.offset, write.bytes);
    return content;
  }
  [[nodiscard]] std::size_t used() const {
    std::size_t bytes = 0;
    for (const auto& [file, state] : files) bytes += now(file).size() - state.discarded;
    return bytes;
  }
  // The power is back.
  void come_back(std::mt19937_64& random) {
    for (auto& [file, state] : files) {
      for (const Write& write : state.pending) {
        const std::size_t from = random() % (write.bytes.size() + 1);
        const std::size_t count = random() % (write.bytes.size() - from + 1);
        const std::size_t all = random() % 3;
        if (all == 0) continue;
        const std::span<const std::byte> part(write.bytes);
        if (all == 1) apply(state.durable, write.offset + from, part.subspan(from, count));
        if (all == 2) apply(state.durable, write.offset, part);
      }
      state.pending.clear();
    }
    calls = cut_at = full_at = 0;
    dark = false;
  }
};

class MemoryDirectory final : public LogDirectory {
 public:
  explicit MemoryDirectory(MemoryDisk& disk, std::uint64_t seed = 0) : disk_(disk), random_(seed) {}

  Result<std::vector<Entry>> list() override {
    std::vector<Entry> entries;
    for (const auto& [file, state] : disk_.files) entries.push_back({file, disk_.now(file).size()});
    return entries;
  }
  Result<void> create(LogFile file) override {
    return change([&] { disk_.files[file]; });
  }
  Result<void> remove(LogFile file) override {
    return change([&] { disk_.files.erase(file); });
  }
  Result<void> write(LogFile file, std::uint64_t offset,
                     std::span<const std::byte> bytes) override {
    if (disk_.full_at != 0 && disk_.calls + 1 >= disk_.full_at) {
      return Error{Code::resource_exhausted, "the disk is full"};
    }
    const std::size_t end = offset + bytes.size(), before = disk_.now(file).size();
    if (end > before && disk_.used() + (end - before) > disk_.room) {
      return Error{Code::resource_exhausted, "the disk is full"};
    }
    const auto outcome = change([] {});
    if (outcome.ok() || cut_now_) {
      disk_.files.at(file).pending.push_back({offset, Bytes(bytes.begin(), bytes.end())});
    }
    return outcome;
  }
  Result<void> sync(LogFile file) override {
    const auto outcome = change([] {});
    if (outcome.ok()) {
      disk_.files.at(file).durable = disk_.now(file);
      disk_.files.at(file).pending.clear();
    }
    return outcome;
  }
  Result<void> truncate(LogFile file, std::uint64_t bytes) override {
    return change([&] {
      MemoryDisk::File& state = disk_.files.at(file);
      state.durable = disk_.now(file);
      state.durable.resize(bytes);
      state.pending.clear();
    });
  }
  // After a power cut any part of it is there.
  void discard(LogFile file, std::uint64_t offset, std::uint64_t bytes) override {
    if (!disk_.discards || (!change([] {}).ok() && !cut_now_)) return;
    disk_.files.at(file).pending.push_back({offset, Bytes(bytes)});
    disk_.files.at(file).discarded += bytes;
  }
  Result<void> read(LogFile file, std::uint64_t offset, std::span<std::byte> into) override {
    const Bytes content = disk_.now(file);
    if (offset + into.size() > content.size()) return Error{Code::data_loss, "the file ends"};
    std::ranges::copy(std::span(content).subspan(offset, into.size()), into.begin());
    return {};
  }

 private:
  // A call that the power cut falls into has happened, or not.
  template <typename Change>
  Result<void> change(const Change& what) {
    const Error dark{Code::internal, "the power is cut"};
    cut_now_ = false;
    if (disk_.dark) return dark;
    cut_now_ = ++disk_.calls == disk_.cut_at;
    disk_.dark = cut_now_;
    if (!cut_now_ || random_() % 2 == 0) what();
    if (cut_now_) return dark;
    return {};
  }

  MemoryDisk& disk_;
  std::mt19937_64 random_;
  bool cut_now_ = false;
};

}  // namespace aqua::keeper::test
