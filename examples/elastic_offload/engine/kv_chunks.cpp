// SPDX-License-Identifier: Apache-2.0
#include "kv_chunks.hpp"

#include "must.hpp"
#include "stamps.hpp"

namespace aqua::example {

KvChunks::KvChunks(Runtime& runtime, std::size_t chunk_bytes, std::uint64_t tenant)
    : runtime_(runtime),
      chunk_bytes_(chunk_bytes),
      stream_(must(emulated::create_stream(runtime), "stream")),
      next_name_(tenant << 32) {}

KvChunks::~KvChunks() {
  (void)emulated::destroy_stream(runtime_, stream_);
}

bool KvChunks::take(std::size_t limit) {
  if (bytes() + chunk_bytes_ > limit) return false;
  auto memory = emulated::allocate(runtime_, chunk_bytes_);
  // Slabs on their way out still count for the device: some other time.
  if (!memory.ok() && memory.error().code == Code::resource_exhausted) return false;
  Chunk chunk{must(std::move(memory), "KV chunk"), next_name_++};
  run([&] {
    const std::span<std::byte> all(emulated::kernel_view(chunk.memory.data()), chunk_bytes_);
    mismatched_ += count_nonzero_words(all) * kWordBytes;
    verified_ += chunk_bytes_;
    fill_words(all, chunk.name);
  });
  chunks_.push_back(std::move(chunk));
  return true;
}

std::size_t KvChunks::free_down_to(std::size_t limit) {
  const std::size_t before = bytes();
  while (bytes() > limit) {
    check(chunks_.back());
    chunks_.pop_back();
  }
  return before - bytes();
}

void KvChunks::check_next() {
  if (!chunks_.empty()) check(chunks_[turn_++ % chunks_.size()]);
}

void KvChunks::check_all() {
  for (const Chunk& chunk : chunks_) check(chunk);
}

void KvChunks::check(const Chunk& chunk) {
  run([&] {
    const std::span<const std::byte> all(emulated::kernel_view(chunk.memory.data()), chunk_bytes_);
    mismatched_ += count_wrong_words(all, chunk.name) * kWordBytes;
    verified_ += chunk_bytes_;
  });
}

void KvChunks::run(std::function<void()> kernel) {
  must(emulated::launch(runtime_, stream_, std::move(kernel)), "launch");
  must(emulated::synchronize(runtime_, stream_), "synchronize");
}

}  // namespace aqua::example
