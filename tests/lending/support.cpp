// SPDX-License-Identifier: Apache-2.0
#include "tests/lending/support.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/base/must.hpp"

namespace aqua::lending {

using test::must;

SocketPath::SocketPath() {
  std::string path = (std::filesystem::temp_directory_path() / "aqua-XXXXXX").string();
  if (::mkdtemp(path.data()) == nullptr) std::abort();
  directory_ = path;
}

SocketPath::~SocketPath() {
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

std::unique_ptr<device::Device> open_gpu(unsigned ordinal, const std::string& kind) {
  if (kind != "hostile") return device::open_kind(kind, 64_MiB);
  return must(device::open_emulated(
      {.ordinal = ordinal, .total_bytes = 64_MiB, .hostile = true, .seed = 7 + ordinal}));
}

Exporter::Freed FreedLog::callback() {
  return [this](const SlabStatus& slab) {
    const MutexLock lock(mu_);
    slabs_.push_back(slab);
    changed_.notify_all();
  };
}

SlabStatus FreedLog::next() {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const MutexLock lock(mu_);
  while (slabs_.empty()) {
    if (!changed_.wait_until(mu_, deadline)) return {};
  }
  const SlabStatus slab = slabs_.front();
  slabs_.pop_front();
  return slab;
}

std::size_t FreedLog::waiting() const {
  const MutexLock lock(mu_);
  return slabs_.size();
}

Lender::Lender(std::size_t slabs, const std::string& kind, const std::string& path)
    : path_(path.empty() ? directory_.str() : path), gpu_(open_gpu(0, kind)) {
  exporter_ =
      must(Exporter::open(*gpu_, {.socket_path = path_, .arena_bytes = 64_MiB}, freed_.callback()));
  std::vector<std::unique_ptr<device::Slab>> own;
  for (std::size_t i = 0; i < slabs; ++i) {
    own.push_back(must(gpu_->create_slab(slab_bytes())));
    windows_.push_back(must(gpu_->reserve(slab_bytes())));
    if (!gpu_->map(*windows_.back(), 0, *own.back()).ok()) std::abort();
    fill(i, 99);  // not for strangers' eyes
  }
  if (!own.empty()) offered_ = must(exporter_->put_up(own));
}

SlabStatus Lender::now(std::size_t i) const {
  for (const SlabStatus& slab : exporter_->status()) {
    if (slab.index == offered_.at(i).index) return slab;
  }
  std::abort();
}

LeasedSlab Lender::to_lease(const SlabStatus& slab) const {
  return {{id, slab.index, slab.generation}, slab.bytes, slab.secret, path_};
}

std::vector<std::byte> Lender::bytes_of(std::size_t i) {
  return device::download(*gpu_, windows_.at(i)->base(), slab_bytes());
}

void Lender::fill(std::size_t i, std::uint32_t seed) {
  device::upload(*gpu_, windows_.at(i)->base(), bytes_like(seed, slab_bytes()));
}

std::unique_ptr<Importer> open_importer(device::Device& gpu, std::size_t arena, ClientId id) {
  return must(Importer::open(gpu, id, arena));
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

std::size_t slab_mappings() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);)
    if (line.find("aqua-slab") != std::string::npos) ++count;
  return count;
}

FewDescriptors::FewDescriptors(rlim_t more) {
  const UniqueFd next(::dup(STDERR_FILENO));
  if (!next.valid() || ::getrlimit(RLIMIT_NOFILE, &saved_) != 0) std::abort();
  const rlimit few{static_cast<rlim_t>(next.get()) + more, saved_.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &few) != 0) std::abort();
}

FewDescriptors::~FewDescriptors() {
  ::setrlimit(RLIMIT_NOFILE, &saved_);
}

}  // namespace aqua::lending
