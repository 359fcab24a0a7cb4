// SPDX-License-Identifier: Apache-2.0
#include "device/memfd/stream_table.hpp"

#include <atomic>
#include <system_error>
#include <utility>

#include "base/concat.hpp"
#include "device/memfd/mix.hpp"

namespace aqua::device {
namespace {

std::atomic<std::uintptr_t> last_handle{0};

Error no_such_stream(const char* what, Stream stream) {
  return Error{Code::invalid_argument, concat(what, ": this device has no stream ", stream.native)};
}

}  // namespace

StreamTable::StreamTable(std::optional<std::uint64_t> hostile_seed) : hostile_seed_(hostile_seed) {
  const MutexLock lock(mu_);
  workers_.emplace(0, start());
}

std::shared_ptr<StreamWorker> StreamTable::start() {
  const std::uint64_t index = started_++;
  if (!hostile_seed_) return std::make_shared<StreamWorker>(std::nullopt);
  return std::make_shared<StreamWorker>(mix(*hostile_seed_ + index));
}

Result<Stream> StreamTable::create() {
  const MutexLock lock(mu_);
  try {
    auto worker = start();
    const Stream stream{++last_handle};
    workers_.emplace(stream.native, std::move(worker));
    return stream;
  } catch (const std::system_error& error) {
    return Error{Code::resource_exhausted, concat("create_stream: no thread for stream ",
                                                  workers_.size() + 1, ": ", error.what())};
  }
}

Result<void> StreamTable::destroy(Stream stream) {
  std::shared_ptr<StreamWorker> worker;
  {
    const MutexLock lock(mu_);
    const auto found = workers_.find(stream.native);
    if (stream.native == 0 || found == workers_.end()) {
      return no_such_stream("destroy_stream", stream);
    }
    worker = std::move(found->second);
    workers_.erase(found);
  }
  worker->stop();
  return {};
}

Result<std::shared_ptr<StreamWorker>> StreamTable::find(const char* what, Stream stream) const {
  const MutexLock lock(mu_);
  const auto found = workers_.find(stream.native);
  if (found == workers_.end()) return no_such_stream(what, stream);
  return found->second;
}

}  // namespace aqua::device
