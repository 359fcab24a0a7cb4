// SPDX-License-Identifier: Apache-2.0
#include "aqua/tensor.hpp"

#include <utility>

#include "base/concat.hpp"
#include "tensor/entry.hpp"

namespace aqua {

Pin::Pin(Pin&& other) noexcept
    : entry_(std::move(other.entry_)),
      place_(std::move(other.place_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      offset_(other.offset_),
      access_(other.access_),
      stream_(other.stream_),
      round_(other.round_) {}

Pin& Pin::operator=(Pin&& other) noexcept {
  if (this == &other) return *this;
  release();
  entry_ = std::move(other.entry_);
  place_ = std::move(other.place_);
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  offset_ = other.offset_;
  access_ = other.access_;
  stream_ = other.stream_;
  round_ = other.round_;
  return *this;
}

Pin::~Pin() {
  release();
}

Tier Pin::tier() const noexcept {
  return place_ != nullptr ? place_->tier() : Tier::host;
}

void Pin::release() noexcept {
  release(stream_);
}

void Pin::release(Stream last_use) noexcept {
  if (entry_ == nullptr) return;
  entry_->unpin(*this, last_use);
  entry_.reset();
  place_.reset();
  data_ = nullptr;
  bytes_ = 0;
}

AquaTensor::AquaTensor(std::shared_ptr<TensorEntry> entry) noexcept : entry_(std::move(entry)) {}

AquaTensor& AquaTensor::operator=(AquaTensor&& other) noexcept {
  if (this == &other) return *this;
  if (entry_ != nullptr) entry_->free();
  entry_ = std::move(other.entry_);
  return *this;
}

AquaTensor::~AquaTensor() {
  if (entry_ != nullptr) entry_->free();
}

namespace {
const std::string kNoName;
}

std::size_t AquaTensor::bytes() const noexcept {
  return entry_ != nullptr ? entry_->options().bytes : 0;
}
const std::string& AquaTensor::name() const noexcept {
  return entry_ != nullptr ? entry_->options().name : kNoName;
}
std::uint64_t AquaTensor::id() const noexcept {
  return entry_ != nullptr ? entry_->id() : 0;
}
Tier AquaTensor::tier() const noexcept {
  return entry_ != nullptr ? entry_->tier() : Tier::host;
}
bool AquaTensor::lost() const noexcept {
  return entry_ != nullptr && entry_->lost();
}

Result<Pin> AquaTensor::pin(Access access, Stream stream, ByteRange range) {
  if (entry_ == nullptr)
    return Error{Code::failed_precondition, "pin: this handle holds no tensor"};
  return entry_->pin(access, stream, range);
}

}  // namespace aqua
