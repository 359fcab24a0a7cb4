#include "device/memfd_device.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "base/concat.hpp"
#include "base/try.hpp"
#include "device/boot_uuid.hpp"
#include "device/memfd_limits.hpp"
#include "device/memfd_work.hpp"
#include "device/mix.hpp"
#include "device/stream_table.hpp"

namespace aqua::device {
namespace {

struct MemfdEvent final : Event {
  std::shared_ptr<EventPoint> point;  // null: unrecorded
};

struct MemfdOptions {
  Info info;
  bool touch_slabs = false;
  bool closed_addresses = false;
  std::optional<std::uint64_t> hostile_seed;
  std::uint64_t link_bytes_per_second = 0;
};

Error not_ours(const char* what, const char* object) {
  return Error{Code::invalid_argument, concat(what, ": the ", object, " is not this device's")};
}

// Nothing posted refers to the device itself, so that slabs, ranges and events may outlive
// it. Destroying it runs what is queued first.
class MemfdDevice final : public Device {
 public:
  explicit MemfdDevice(MemfdOptions options)
      : options_(std::move(options)),
        capacity_(std::make_shared<Capacity>(options_.info.total_bytes)),
        streams_(options_.hostile_seed) {}

  [[nodiscard]] const Info& info() const noexcept override { return options_.info; }
  [[nodiscard]] std::size_t free_bytes() const override { return capacity_->free_bytes(); }

  [[nodiscard]] Result<std::unique_ptr<Slab>> create_slab(std::size_t bytes) override {
    AQUA_TRY(check_size("create_slab", bytes));
    return MemfdSlab::create(capacity_, bytes, options_.touch_slabs);
  }
  [[nodiscard]] Result<UniqueFd> export_slab(const Slab& slab) override {
    const auto* own = dynamic_cast<const MemfdSlab*>(&slab);
    if (own == nullptr || own->owner() != capacity_.get()) return not_ours("export_slab", "slab");
    return own->duplicate();
  }
  [[nodiscard]] Result<std::unique_ptr<Slab>> import_slab(UniqueFd fd, std::size_t bytes) override {
    AQUA_TRY(check_size("import_slab", bytes));
    return MemfdSlab::import(std::move(fd), bytes);
  }

  [[nodiscard]] Result<std::unique_ptr<AddressRange>> reserve(std::size_t bytes) override {
    AQUA_TRY(check_size("reserve", bytes));
    auto reservation = options_.closed_addresses ? Reservation::closed(bytes, kGranularity)
                                                 : Reservation::open(bytes, kGranularity);
    if (!reservation.ok()) return std::move(reservation).error();
    return std::unique_ptr<AddressRange>(
        new MemfdRange(std::move(reservation).value(), capacity_, regions_));
  }
  [[nodiscard]] Result<void> map(AddressRange& range, std::size_t offset,
                                 const Slab& slab) override {
    auto* own = own_range(range);
    if (own == nullptr) return not_ours("map", "range");
    const auto* memfd = dynamic_cast<const MemfdSlab*>(&slab);
    if (memfd == nullptr) return not_ours("map", "slab");
    pause();  // the hole is open for a while, as under CUDA
    return own->map(offset, *memfd);
  }
  [[nodiscard]] Result<void> unmap(AddressRange& range, std::size_t offset,
                                   std::size_t bytes) override {
    auto* own = own_range(range);
    if (own == nullptr) return not_ours("unmap", "range");
    return own->unmap(offset, bytes);
  }

  [[nodiscard]] Result<Stream> create_stream() override { return streams_.create(); }
  [[nodiscard]] Result<void> destroy_stream(Stream stream) override {
    return streams_.destroy(stream);
  }
  [[nodiscard]] Result<std::unique_ptr<Event>> create_event() override {
    return std::unique_ptr<Event>(new MemfdEvent);
  }
  [[nodiscard]] Result<void> record(Event& event, Stream stream) override {
    auto* memfd = dynamic_cast<MemfdEvent*>(&event);
    if (memfd == nullptr) return not_ours("record", "event");
    AQUA_ASSIGN(const auto worker, streams_.find("record", stream));
    auto point = std::make_shared<EventPoint>(worker->failures());
    AQUA_TRY(post("record", *worker, [point] {
      point->reach();
      return true;
    }));
    memfd->point = std::move(point);
    return {};
  }
  [[nodiscard]] Result<void> wait_event(Stream stream, const Event& event) override {
    const auto* memfd = dynamic_cast<const MemfdEvent*>(&event);
    if (memfd == nullptr) return not_ours("wait_event", "event");
    AQUA_ASSIGN(const auto worker, streams_.find("wait_event", stream));
    if (memfd->point == nullptr) return {};
    return post("wait_event", *worker, [point = memfd->point] {
      point->wait();
      return true;
    });
  }
  [[nodiscard]] Result<bool> query(const Event& event) override {
    const auto* memfd = dynamic_cast<const MemfdEvent*>(&event);
    if (memfd == nullptr) return not_ours("query", "event");
    return memfd->point == nullptr ? Result<bool>(true) : memfd->point->query();
  }
  [[nodiscard]] Result<void> synchronize(const Event& event) override {
    const auto* memfd = dynamic_cast<const MemfdEvent*>(&event);
    if (memfd == nullptr) return not_ours("synchronize", "event");
    if (memfd->point == nullptr) return {};
    memfd->point->wait();
    AQUA_TRY(memfd->point->query());
    return {};
  }

  [[nodiscard]] Result<void> copy(CopyBatch batch, Stream stream, CancelFlag cancel) override {
    AQUA_TRY(check_batch(batch));
    AQUA_ASSIGN(const auto worker, streams_.find("copy", stream));
    return post("copy", *worker,
                [batch = std::move(batch), cancel = std::move(cancel), regions = regions_,
                 rate = options_.link_bytes_per_second] {
                  if (cancel && cancel->load()) return true;
                  return run_copy(*batch, *regions, rate);
                });
  }
  [[nodiscard]] Result<void> scrub(std::byte* dst, std::size_t bytes, Stream stream) override {
    AQUA_TRY(check_scrub(dst, bytes));
    AQUA_ASSIGN(const auto worker, streams_.find("scrub", stream));
    return post("scrub", *worker,
                [dst, bytes, regions = regions_] { return run_scrub(dst, bytes, *regions); });
  }

  [[nodiscard]] Result<void> launch(Stream stream, std::function<void()> kernel) {
    if (!kernel) return Error{Code::invalid_argument, "launch: no kernel"};
    AQUA_ASSIGN(const auto worker, streams_.find("launch", stream));
    return post("launch", *worker, [kernel = std::move(kernel)] {
      kernel();
      return true;
    });
  }
  void poison(const std::byte* address, std::size_t bytes) {
    regions_->poisoned.add(address, bytes);
  }

 private:
  static Result<void> check_size(const char* what, std::size_t bytes) {
    if (bytes > 0 && bytes % kGranularity == 0) return {};
    return Error{Code::invalid_argument,
                 concat(what, ": ", bytes, " bytes: not a positive multiple of ", kGranularity)};
  }
  static Result<void> post(const char* what, StreamWorker& worker, StreamWorker::Work work) {
    if (worker.post(std::move(work))) return {};
    return Error{Code::invalid_argument, concat(what, ": the stream is being destroyed")};
  }
  MemfdRange* own_range(AddressRange& range) const {
    auto* memfd = dynamic_cast<MemfdRange*>(&range);
    return memfd != nullptr && memfd->device() == capacity_.get() ? memfd : nullptr;
  }
  void pause() {
    if (!options_.hostile_seed) return;
    const std::uint64_t roll = mix(*options_.hostile_seed + pauses_.fetch_add(1)) % 50;
    std::this_thread::sleep_for(std::chrono::microseconds(roll));
  }

  const MemfdOptions options_;
  const std::shared_ptr<Capacity> capacity_;
  const std::shared_ptr<MappedRegions> regions_ = std::make_shared<MappedRegions>();
  std::atomic<std::uint64_t> pauses_{0};
  StreamTable streams_;  // last: its threads end first
};

Result<std::unique_ptr<Device>> open_memfd(MemfdOptions options) {
  options.info.uuid = boot_uuid(options.info.name);
  options.info.granularity = kGranularity;
  try {
    return std::unique_ptr<Device>(new MemfdDevice(std::move(options)));
  } catch (const std::system_error& error) {
    return Error{Code::resource_exhausted, concat("open device: ", error.what())};
  }
}

}  // namespace

Result<std::unique_ptr<Device>> open_emulated(const EmulatedOptions& options) {
  MemfdOptions memfd;
  memfd.info.kind = Kind::emulated;
  memfd.info.name = concat("emu:", options.ordinal);
  memfd.info.total_bytes = options.total_bytes;
  memfd.closed_addresses = options.hostile;
  if (options.hostile) memfd.hostile_seed = options.seed;
  memfd.link_bytes_per_second = options.link_bytes_per_second;
  return open_memfd(std::move(memfd));
}

Result<std::unique_ptr<Device>> open_host(const HostOptions& options) {
  MemfdOptions memfd;
  memfd.info.kind = Kind::host;
  memfd.info.name = "host";
  memfd.info.total_bytes = options.total_bytes;
  memfd.touch_slabs = true;
  if (options.total_bytes == 0) {
    const auto pages = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES));
    const std::size_t quarter = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / 4;
    memfd.info.total_bytes = quarter / kGranularity * kGranularity;
  }
  return open_memfd(std::move(memfd));
}

std::byte* kernel_view(std::byte* device_address) noexcept {
  return closed_view(device_address);
}

const std::byte* kernel_view(const std::byte* device_address) noexcept {
  return closed_view(const_cast<std::byte*>(device_address));
}

Result<void> launch(Device& device, Stream stream, std::function<void()> kernel) {
  if (auto* memfd = dynamic_cast<MemfdDevice*>(&device)) {
    return memfd->launch(stream, std::move(kernel));
  }
  return Error{Code::unimplemented,
               concat("launch: ", device.info().name, " runs no host function as a kernel")};
}

void poison_range(Device& device, const std::byte* address, std::size_t bytes) {
  if (auto* memfd = dynamic_cast<MemfdDevice*>(&device)) memfd->poison(address, bytes);
}

}  // namespace aqua::device
