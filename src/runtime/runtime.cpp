// SPDX-License-Identifier: Apache-2.0
#include "aqua/runtime.hpp"

#include "base/concat.hpp"
#include "base/errno_error.hpp"
#include "base/internals.hpp"
#include "base/try.hpp"
#include "runtime/impl.hpp"

namespace aqua {

Runtime::Runtime(std::shared_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Runtime::~Runtime() = default;
Runtime::Runtime(Runtime&&) noexcept = default;
Runtime& Runtime::operator=(Runtime&&) noexcept = default;

Result<Runtime> Runtime::open(const RuntimeOptions& options) {
  AQUA_ASSIGN(auto impl, with_threads("open", [&] { return Impl::open(options); }));
  // A forked child has none of its threads, and must not end what is the parent's. Destroying it
  // there would hang, so it leaks.
  return Runtime(std::shared_ptr<Impl>(impl.release(), [](Impl* opened) {
    if (opened->check_process().ok()) delete opened;
  }));
}

Result<AquaTensor> Runtime::allocate(const TensorOptions& options) {
  AQUA_TRY(impl_->check_process());
  return impl_->table().allocate(options);
}

Result<Ticket> Runtime::offload(const Layout& layout, BlockList blocks, AquaTensor& tensor,
                                Stream stream, std::size_t offset) {
  return impl_->move(layout, blocks, {}, tensor, stream, offset, transfer::Direction::offload);
}
Result<Ticket> Runtime::fetch(AquaTensor& tensor, const Layout& layout, BlockList blocks,
                              Stream stream, std::size_t offset) {
  return impl_->move(layout, blocks, {}, tensor, stream, offset, transfer::Direction::fetch);
}

Result<Ticket> Runtime::offload(const Layout& layout, BlockList blocks, const KvRange& range,
                                AquaTensor& tensor, Stream stream, std::size_t offset) {
  return impl_->move(layout, blocks, range, tensor, stream, offset, transfer::Direction::offload);
}
Result<Ticket> Runtime::fetch(AquaTensor& tensor, const Layout& layout, BlockList blocks,
                              const KvRange& range, Stream stream, std::size_t offset) {
  return impl_->move(layout, blocks, range, tensor, stream, offset, transfer::Direction::fetch);
}

Result<Ticket> Runtime::offload(const Layout& layout, BlockList blocks, AquaTensor& tensor,
                                const TensorPages& pages, Stream stream, const KvRange& range) {
  return impl_->move_pages(layout, blocks, range, tensor, pages, stream,
                           transfer::Direction::offload);
}
Result<Ticket> Runtime::fetch(AquaTensor& tensor, const TensorPages& pages, const Layout& layout,
                              BlockList blocks, Stream stream, const KvRange& range) {
  return impl_->move_pages(layout, blocks, range, tensor, pages, stream,
                           transfer::Direction::fetch);
}

Result<void> Runtime::lend(std::size_t bytes) {
  return impl_->lend(bytes);
}

Result<Reclaim> Runtime::reclaim(std::size_t bytes, std::chrono::milliseconds deadline) {
  AQUA_TRY(impl_->check_process());
  if (bytes == 0 || deadline.count() <= 0) {
    return Error{Code::invalid_argument,
                 concat("reclaim: ", bytes, " bytes within ", deadline.count(), " ms")};
  }
  return detail::Internals::make<Reclaim>(impl_->lender().reclaim(bytes, deadline));
}

Result<void> Runtime::set_profile(const LoadProfile& profile, const ProducerOptions& options) {
  return impl_->set_profile(profile, options);
}
Result<void> Runtime::report(const LoadReport& report) {
  return impl_->report(report);
}
MemoryBudget Runtime::budget() const {
  return impl_->budget(BudgetReason::opened);
}
void Runtime::tick() {
  impl_->callbacks().tick();
}
RuntimeStatus Runtime::status() const {
  return impl_->status();
}

}  // namespace aqua
