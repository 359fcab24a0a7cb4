// SPDX-License-Identifier: Apache-2.0
// What the lending tests share: sockets with short lives, windows on lent memory, and a log
// of freed slabs to wait on.
#pragma once

#include <sys/resource.h>

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "device/memfd/device.hpp"
#include "lending/exporter.hpp"
#include "lending/importer.hpp"
#include "tests/base/eventually.hpp"
#include "tests/device/contract.hpp"

namespace aqua::lending {

using namespace aqua::literals;
using device::fails_with;
using device::succeeds;
using test::eventually;

inline constexpr std::chrono::seconds kPatience{10};
inline constexpr std::size_t kSlab = 2_MiB;  // of the emulated devices

// A path that nobody uses, in a directory of its own; both go with it.
class SocketPath {
 public:
  SocketPath();
  ~SocketPath();
  SocketPath(const SocketPath&) = delete;
  SocketPath& operator=(const SocketPath&) = delete;
  [[nodiscard]] std::string str() const { return directory_ + "/exchange"; }

 private:
  std::string directory_;
};

// Opens a device of 64 MiB, one of device_kinds(); emulated ones are emu:`ordinal`, where that is
// told apart.
[[nodiscard]] std::unique_ptr<device::Device> open_gpu(unsigned ordinal,
                                                       const std::string& kind = "hostile");

// The exporter's callback, and its other end.
class FreedLog {
 public:
  [[nodiscard]] Exporter::Freed callback();
  // The next slab that became free; index 0 when none did in 10 seconds.
  [[nodiscard]] SlabStatus next();
  [[nodiscard]] std::size_t waiting() const;

 private:
  mutable Mutex mu_;
  CondVar changed_;
  std::deque<SlabStatus> slabs_ AQUA_GUARDED_BY(mu_);
};

// An exporter whose memory can be looked at: every slab is mapped a second time.
class Lender {
 public:
  // Lends slabs as small as the device has them. Its exchange is at `path`, or where nobody is.
  explicit Lender(std::size_t slabs, const std::string& kind = "hostile",
                  const std::string& path = {});

  [[nodiscard]] Exporter& exporter() { return *exporter_; }
  [[nodiscard]] std::string path() const { return path_; }
  [[nodiscard]] device::Device& gpu() { return *gpu_; }
  [[nodiscard]] std::size_t slab_bytes() const { return gpu_->info().granularity; }
  [[nodiscard]] FreedLog& freed() { return freed_; }
  // As put_up() returned it, and as it is now.
  [[nodiscard]] const SlabStatus& offered(std::size_t i) const { return offered_.at(i); }
  [[nodiscard]] SlabStatus now(std::size_t i) const;
  [[nodiscard]] LeasedSlab lease(std::size_t i) const { return to_lease(now(i)); }
  [[nodiscard]] LeasedSlab to_lease(const SlabStatus& slab) const;
  // Through a mapping of its own, which outlives that of the exporter.
  [[nodiscard]] std::vector<std::byte> bytes_of(std::size_t i);
  void fill(std::size_t i, std::uint32_t seed);
  void stop() { exporter_.reset(); }

  const ClientId id = random_id<ClientTag>();

 private:
  SocketPath directory_;
  const std::string path_;
  FreedLog freed_;
  std::unique_ptr<device::Device> gpu_;
  std::vector<std::unique_ptr<device::AddressRange>> windows_;
  std::vector<SlabStatus> offered_;
  std::unique_ptr<Exporter> exporter_;
};

[[nodiscard]] std::unique_ptr<Importer> open_importer(device::Device& gpu,
                                                      std::size_t arena = 64_MiB,
                                                      ClientId id = random_id<ClientTag>());

[[nodiscard]] inline std::vector<std::byte> zeroes(std::size_t bytes = kSlab) {
  return std::vector<std::byte>(bytes);
}
[[nodiscard]] inline std::vector<std::byte> bytes_like(std::uint32_t seed,
                                                       std::size_t bytes = kSlab) {
  return device::pattern(bytes, seed);
}

// What this process holds: entries of /proc/self/fd, and mappings of slabs over memfd.
[[nodiscard]] std::size_t open_descriptors();
[[nodiscard]] std::size_t slab_mappings();

// Leaves this process `more` descriptors at most.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t more);
  ~FewDescriptors();
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit saved_{};
};

}  // namespace aqua::lending
