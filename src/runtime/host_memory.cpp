// SPDX-License-Identifier: Apache-2.0
#include "aqua/host_memory.hpp"

#include <fcntl.h>

#include <iterator>
#include <list>
#include <optional>
#include <utility>

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/internals.hpp"
#include "base/memory/memfd.hpp"
#include "base/mutex.hpp"
#include "base/trace_range.hpp"
#include "base/try.hpp"
#include "runtime/impl.hpp"

namespace aqua {

struct HostMemory::Parts {
  [[nodiscard]] auto& impl() const noexcept { return detail::Internals::impl(runtime); }
  explicit Parts(Runtime& of) : runtime(detail::Internals::view(of)) {}
  ~Parts() {
    // A forked child has neither the mapping nor the GPU's context.
    if (locked && impl().check_process().ok()) {
      (void)impl().device().unregister_host(range->base(), range->bytes());
    }
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  // Posts a copy that wait() knows of, and makes its place in `moves` first: once it is queued
  // nothing may fail any more.
  [[nodiscard]] Result<Ticket> move(const Layout& layout, BlockList blocks,
                                    const std::optional<KvRange>& part, std::size_t offset,
                                    Stream stream, transfer::Direction direction) {
    const TraceRange trace(direction == transfer::Direction::offload ? "aqua gather"
                                                                     : "aqua scatter");
    AQUA_TRY(impl().check_process());
    forget_some();
    std::list<transfer::Transfer> one;
    AQUA_ASSIGN(auto prepared, impl().prepare({.layout = &layout,
                                               .blocks = blocks,
                                               .tensor = range->base(),
                                               .tensor_bytes = range->bytes(),
                                               .offset = offset,
                                               .range = part,
                                               .direction = direction},
                                              stream));
    one.push_back(std::move(prepared));
    transfer::Transfer& copy = one.front();
    auto posted = impl().post(copy, stream);
    Ticket ticket = copy.ticket();
    if (posted.ok() || copy.running()) {
      const MutexLock lock(mu);
      moves.splice(moves.end(), one);
    }
    if (!posted.ok()) return std::move(posted).error();
    return ticket;
  }
  [[nodiscard]] Result<Ticket> gather(const Layout& layout, BlockList blocks,
                                      const std::optional<KvRange>& part, std::size_t offset,
                                      Stream stream) {
    if (!writable) {
      return Error{Code::permission_denied, "host memory: gather: it is mapped to be read"};
    }
    return move(layout, blocks, part, offset, stream, transfer::Direction::offload);
  }
  [[nodiscard]] Result<Ticket> scatter(std::size_t offset, const Layout& layout, BlockList blocks,
                                       const std::optional<KvRange>& part, Stream stream) {
    return move(layout, blocks, part, offset, stream, transfer::Direction::fetch);
  }
  // Those that have arrived, once there are many.
  void forget_some() {
    constexpr std::size_t kMany = 64;
    const MutexLock lock(mu);
    if (moves.size() < kMany) return;
    moves.remove_if([](const transfer::Transfer& one) {
      const auto done = one.ticket().done();
      return done.ok() && *done;
    });
  }
  // Takes `moves`, and puts back what has not ended.
  class Waited {
   public:
    explicit Waited(Parts& of) : of_(of) {
      const MutexLock lock(of_.mu);
      moves.swap(of_.moves);
    }
    ~Waited() {
      const MutexLock lock(of_.mu);
      of_.moves.splice(of_.moves.begin(), moves);
    }
    Waited(const Waited&) = delete;
    Waited& operator=(const Waited&) = delete;
    std::list<transfer::Transfer> moves{};

   private:
    Parts& of_;
  };

  mutable Runtime runtime;  // a view, which stays good when the runtime is moved
  std::unique_ptr<device::AddressRange> range;
  bool writable = false;
  bool locked = false;
  Mutex waiting;  // held by wait(), which has taken what another one must await; before `mu`
  Mutex mu;
  std::list<transfer::Transfer> moves AQUA_GUARDED_BY(mu);  // that wait() has not seen end
};

HostMemory::HostMemory(std::unique_ptr<Parts> parts) noexcept : parts_(std::move(parts)) {}
HostMemory::HostMemory(HostMemory&&) noexcept = default;
HostMemory& HostMemory::operator=(HostMemory&&) noexcept = default;
HostMemory::~HostMemory() = default;

Result<HostMemory> HostMemory::map(Runtime& runtime, const SlabDescriptor& memory, Access access) {
  auto parts = std::make_unique<Parts>(runtime);
  AQUA_TRY(parts->impl().check_process());
  device::Device& host = parts->impl().host_device();
  device::Device& gpu = parts->impl().device();
  if (memory.bytes == 0 || memory.bytes % host.info().granularity != 0) {
    return Error{Code::invalid_argument,
                 concat("host memory: ", memory.bytes, " bytes, which are no multiple of ",
                        host.info().granularity)};
  }
  UniqueFd copy(::fcntl(memory.descriptor, F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) return errno_error("host memory: a descriptor");
  AQUA_ASSIGN(const auto slab, host.import_slab(std::move(copy), memory.bytes));
  AQUA_ASSIGN(parts->range, host.reserve(memory.bytes));
  parts->writable = access == Access::write;
  if (parts->writable && !take_pages(memory.descriptor, memory.bytes))
    return errno_error(concat("host memory: ", memory.bytes, " bytes"));
  const bool read_only = !parts->writable && gpu.info().kind != device::Kind::cuda;
  AQUA_TRY(host.map(*parts->range, 0, *slab,
                    read_only ? device::MapAccess::read_only : device::MapAccess::read_write));
  parts->locked = gpu.register_host(parts->range->base(), memory.bytes).ok();
  return HostMemory(std::move(parts));
}

std::byte* HostMemory::address() const noexcept {
  return parts_->range->base();
}
std::size_t HostMemory::bytes() const noexcept {
  return parts_->range->bytes();
}
bool HostMemory::locked() const noexcept {
  return parts_->locked;
}

Result<Ticket> HostMemory::gather(const Layout& layout, BlockList blocks, std::size_t offset,
                                  Stream stream) {
  return parts_->gather(layout, blocks, {}, offset, stream);
}

Result<Ticket> HostMemory::gather(const Layout& layout, BlockList blocks, const KvRange& range,
                                  std::size_t offset, Stream stream) {
  return parts_->gather(layout, blocks, range, offset, stream);
}

Result<Ticket> HostMemory::scatter(std::size_t offset, const Layout& layout, BlockList blocks,
                                   Stream stream) const {
  return parts_->scatter(offset, layout, blocks, {}, stream);
}

Result<Ticket> HostMemory::scatter(std::size_t offset, const Layout& layout, BlockList blocks,
                                   const KvRange& range, Stream stream) const {
  return parts_->scatter(offset, layout, blocks, range, stream);
}

Result<void> HostMemory::wait() {
  const MutexLock alone(parts_->waiting);
  Parts::Waited waited(*parts_);
  Result<void> first;
  for (auto at = waited.moves.begin(); at != waited.moves.end();) {
    auto ended = at->ticket().wait();
    if (first.ok()) first = std::move(ended);
    at = at->running() ? std::next(at) : waited.moves.erase(at);
  }
  return first;
}

}  // namespace aqua
