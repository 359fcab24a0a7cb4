// SPDX-License-Identifier: Apache-2.0
#include "aqua/stream_mark.hpp"

#include "base/concat.hpp"
#include "base/internals.hpp"
#include "base/try.hpp"
#include "runtime/impl.hpp"

namespace aqua {

struct StreamMark::Parts {
  Runtime runtime;  // a view, which stays good when the runtime is moved
  device::Device& device;
  std::unique_ptr<device::Event> event;
};

StreamMark::StreamMark(std::unique_ptr<Parts> parts) noexcept : parts_(std::move(parts)) {}
StreamMark::StreamMark(StreamMark&&) noexcept = default;
StreamMark& StreamMark::operator=(StreamMark&&) noexcept = default;
StreamMark::~StreamMark() = default;

Result<StreamMark> StreamMark::create(Runtime& runtime) {
  auto& impl = detail::Internals::impl(runtime);
  AQUA_TRY(impl.check_process());
  AQUA_ASSIGN(auto event, impl.device().create_event(device::EventKind::timed));
  return StreamMark(std::unique_ptr<Parts>(
      new Parts{detail::Internals::view(runtime), impl.device(), std::move(event)}));
}

Result<StreamMark> StreamMark::create(Runtime& runtime, Stream stream) {
  AQUA_ASSIGN(StreamMark mark, create(runtime));
  AQUA_TRY(mark.set(stream));
  return mark;
}

Result<void> StreamMark::check(Runtime& runtime, Stream stream) {
  auto& impl = detail::Internals::impl(runtime);
  AQUA_TRY(impl.check_process());
  if (auto named = impl.device().check_stream(stream); !named.ok())
    return Error{named.error().code, concat("stream mark: ", named.error().message)};
  return {};
}

Result<void> StreamMark::set(Stream stream) {
  AQUA_TRY(check(parts_->runtime, stream));
  return parts_->device.record(*parts_->event, stream);
}

Result<void> StreamMark::wait() const {
  AQUA_TRY(detail::Internals::impl(parts_->runtime).check_process());
  return parts_->device.synchronize(*parts_->event);
}

std::uint64_t StreamMark::latest_failure() const noexcept {
  return parts_->device.latest_failure(*parts_->event);
}

Result<std::chrono::nanoseconds> StreamMark::since(const StreamMark& earlier) const {
  return parts_->device.elapsed(*earlier.parts_->event, *parts_->event);
}

}  // namespace aqua
