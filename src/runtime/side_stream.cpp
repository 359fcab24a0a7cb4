// SPDX-License-Identifier: Apache-2.0
#include "aqua/side_stream.hpp"

#include "base/concat.hpp"
#include "base/internals.hpp"
#include "base/try.hpp"
#include "device/own_stream.hpp"
#include "runtime/impl.hpp"

namespace aqua {

struct SideStream::Parts {
  Runtime runtime;  // a view, which stays good when the runtime is moved
  device::Device& device;
  device::OwnStream stream;
  std::unique_ptr<device::Event> event;  // recorded anew for each order: a wait keeps its point

  // Orders later after earlier; `theirs` is the one that is not ours.
  [[nodiscard]] Result<void> order(Stream earlier, Stream later, Stream theirs) {
    AQUA_TRY(detail::Internals::impl(runtime).check_process());
    if (auto named = device.check_stream(theirs); !named.ok())
      return Error{named.error().code, concat("side stream: ", named.error().message)};
    AQUA_TRY(device.record(*event, earlier));
    return device.wait_event(later, *event);
  }
};

SideStream::SideStream(std::unique_ptr<Parts> parts) noexcept : parts_(std::move(parts)) {}
SideStream::SideStream(SideStream&&) noexcept = default;
SideStream& SideStream::operator=(SideStream&&) noexcept = default;
SideStream::~SideStream() = default;

Result<SideStream> SideStream::create(Runtime& runtime) {
  auto& impl = detail::Internals::impl(runtime);
  AQUA_TRY(impl.check_process());
  AQUA_ASSIGN(auto event, impl.device().create_event());
  AQUA_ASSIGN(auto stream, device::OwnStream::create(impl.device()));
  return SideStream(std::unique_ptr<Parts>(new Parts{
      detail::Internals::view(runtime), impl.device(), std::move(stream), std::move(event)}));
}

Stream SideStream::stream() const noexcept {
  return *parts_->stream;
}
Result<void> SideStream::run_after(Stream earlier) {
  return parts_->order(earlier, stream(), earlier);
}
Result<void> SideStream::run_before(Stream later) {
  return parts_->order(stream(), later, later);
}
Result<void> SideStream::wait() {
  AQUA_TRY(detail::Internals::impl(parts_->runtime).check_process());
  return parts_->device.synchronize(stream());
}

}  // namespace aqua
