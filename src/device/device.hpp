// SPDX-License-Identifier: Apache-2.0
// The device contract: what the layers above need of a device's memory and streams.
// CUDA's virtual-memory and stream calls fit it one to one; the emulated GPU and host
// DRAM implement it over anonymous shared files and worker threads. One suite
// (tests/device/contract_test.cpp) runs over every implementation.
//
// Threads: every method of every class here may be called concurrently, except that a
//          single AddressRange, Slab or Event is the caller's to serialise.
// Units:   bytes. Sizes of slabs and offsets of mappings are multiples of
//          Info::granularity; all else may be any size.
// Memory:  device addresses are not host addresses. On the emulated GPU in hostile mode,
//          as on CUDA, a host thread that dereferences one dies.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "aqua/result.hpp"
#include "aqua/types.hpp"
#include "aqua/write_protection.hpp"
#include "base/ids.hpp"
#include "base/unique_fd.hpp"
#include "device/block_copy.hpp"

namespace aqua::device {

enum class Kind : std::uint8_t { cuda, emulated, host };

struct Info {
  Kind kind = Kind::host;
  std::string name;  // "cuda:0", "emu:3", "host"
  DeviceUuid uuid;   // the same for this device in every process of this boot
  std::size_t total_bytes = 0;
  std::size_t granularity = 0;
  std::size_t cache_bytes =
      0;                 // of its last cache, which may serve what moved just before; 0: none
  int numa_node = -1;    // of this server, the nearest to the device; -1: not known, or no matter
  std::string driver{};  // name and version of what stands below; empty where nothing does
};

// One physical allocation, or one import of another process's. Destroying the handle
// frees nothing that is still mapped, here or anywhere (cuMemRelease's rule).
class Slab {
 public:
  virtual ~Slab() = default;
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 protected:
  explicit Slab(std::size_t bytes) noexcept : bytes_(bytes) {}

 private:
  std::size_t bytes_;
};

// A reserved range of device addresses. Addresses stay reserved, mapped or not, until it
// is destroyed; what is still mapped then is unmapped. No work may be in flight on it.
class AddressRange {
 public:
  virtual ~AddressRange() = default;
  AddressRange(const AddressRange&) = delete;
  AddressRange& operator=(const AddressRange&) = delete;
  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 protected:
  AddressRange(std::byte* base, std::size_t bytes) noexcept : base_(base), bytes_(bytes) {}

 private:
  std::byte* base_;
  std::size_t bytes_;
};

// What work of this device may do with a mapped slab.
enum class MapAccess : std::uint8_t { read_write, read_only };

// What other processes do with a slab's memory.
enum class SlabUse : std::uint8_t {
  lend,     // read and write it, for as long as it lives
  publish,  // read it, once it is filled and sealed; nobody writes it after that
};

// What an event is for. Timed ones cost the device a little more; ordering needs none.
enum class EventKind : std::uint8_t { ordering, timed };

// A point in a stream. Created unrecorded; an unrecorded event counts as complete. It is its
// device's: another one may only let a stream wait for it.
class Event {
 public:
  virtual ~Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

 protected:
  Event() = default;
};

struct CopySegment {
  std::byte* dst = nullptr;
  const std::byte* src = nullptr;
  std::size_t bytes = 0;
};

// A batch is immutable once posted and shared with the device until it has run.
using CopyBatch = std::shared_ptr<const std::vector<CopySegment>>;

// Set by the poster to skip the batches not yet started; a batch skipped so completes
// without moving a byte. May be null. A device whose queue cannot be called back (CUDA's
// copy engines) looks at it only when the batch is posted.
using CancelFlag = std::shared_ptr<std::atomic<bool>>;

// How the bytes of a batch are to be moved, for the poster to choose. All have the same effect; a
// device that has only one way (emulated, host) takes that.
enum class CopyMethod : std::uint8_t {
  each,     // one command to a copy engine for each segment
  batched,  // one command for all of them, stream order kept
  kernel,   // a kernel that reads and writes both sides, bounded in SMs
};

// What a copy crosses. How many SMs a kernel takes by default depends on it.
enum class CopyPath : std::uint8_t {
  peer,           // a link to another device, or not known
  within_device,  // both sides are this device's own memory
  to_host,
  from_host,
};

struct CopyOptions {
  CopyMethod method = CopyMethod::each;
  unsigned max_sms = 0;  // for `kernel`: 0 is the device's default, which leaves most to compute
  CopyPath path = CopyPath::peer;
  CancelFlag cancel{};
};

// What really ran of the copies asked of a device since it was opened. Units: batches, which are
// calls of Device::copy() and copy_blocks(); one whose parts went different ways counts for each of
// them.
struct CopyCounts {
  std::uint64_t kernel = 0;
  std::uint64_t batched = 0;
  std::uint64_t each = 0;
  // Why a batch, or a part of it, did not go by a kernel or by one command, where one of these was
  // asked for. Counts once for each of the two that was passed over.
  std::uint64_t unsupported = 0;  // the device, its driver or this stream has no such way
  std::uint64_t unreachable = 0;  // an address that the GPU is not known to reach
  std::uint64_t full = 0;         // no room for the list, or too many commands in flight
  std::uint64_t refused = 0;      // the driver refused the launch or the command
  // Batched commands were seen to hang: none is given to the driver any more.
  bool batches_hang = false;

  // What came after `before` was told; of what hangs, what is known now.
  [[nodiscard]] CopyCounts since(const CopyCounts& before) const noexcept {
    return {kernel - before.kernel,
            batched - before.batched,
            each - before.each,
            unsupported - before.unsupported,
            unreachable - before.unreachable,
            full - before.full,
            refused - before.refused,
            batches_hang};
  }
};

// True when record() failed because the device has died or the stream no longer exists, so that no
// work is left to wait for. After any other failure there may be, and it can be tried again.
[[nodiscard]] constexpr bool nothing_left(Code code) noexcept {
  return code == Code::data_loss || code == Code::invalid_argument;
}

class Device {
 public:
  virtual ~Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] virtual const Info& info() const noexcept = 0;
  [[nodiscard]] virtual std::size_t free_bytes() const = 0;

  // --- physical memory -----------------------------------------------------------------
  // Shareable physical memory of this device, not mapped anywhere; content undefined.
  // resource_exhausted when fewer than `bytes` are free.
  [[nodiscard]] virtual Result<std::unique_ptr<Slab>> create_slab(std::size_t bytes,
                                                                  SlabUse use = SlabUse::lend) = 0;
  // Ends all writing of a slab that this process created to publish: from now on it is mapped
  // read_only alone, here and wherever it is imported. Sealing again changes nothing.
  // failed_precondition: somebody still has it mapped read_write (a forked child, perhaps), or it
  // was created to lend.
  [[nodiscard]] virtual Result<WriteProtection> seal(Slab& slab) = 0;
  // A new descriptor (close-on-exec) for a slab that this process created. failed_precondition for
  // one to publish that is not sealed.
  [[nodiscard]] virtual Result<UniqueFd> export_slab(const Slab& slab) = 0;
  // Takes the descriptor of another process's slab of `bytes` on a device like this one, which was
  // created for this use. Checks type, size and seals first (invalid_argument): a hostile exporter
  // cannot make us fault later, nor, where protection is enforced, write what was published.
  [[nodiscard]] virtual Result<std::unique_ptr<Slab>> import_slab(UniqueFd fd, std::size_t bytes,
                                                                  SlabUse use = SlabUse::lend) = 0;

  // --- addresses -----------------------------------------------------------------------
  [[nodiscard]] virtual Result<std::unique_ptr<AddressRange>> reserve(std::size_t bytes) = 0;
  // Maps a whole slab at base() + offset for this device. The place must be unmapped
  // (failed_precondition). The mapping keeps the physical memory alive. Imported slabs are not
  // inherited by forked children. Through a read_only mapping copy() and scrub() write nothing
  // (permission_denied); a kernel of the engine's that does is treated as one that writes where
  // nothing is mapped. Another mapping of the same slab may be read_write, unless it is sealed
  // (permission_denied).
  [[nodiscard]] virtual Result<void> map(AddressRange& range, std::size_t offset, const Slab& slab,
                                         MapAccess access = MapAccess::read_write) = 0;
  // Unmaps exactly one slab mapped before. The caller has seen every event of work that
  // touches it complete: unmapping waits for nothing. failed_precondition when no slab
  // starts there, invalid_argument when it is not of `bytes`. The addresses stay reserved.
  [[nodiscard]] virtual Result<void> unmap(AddressRange& range, std::size_t offset,
                                           std::size_t bytes) = 0;

  // --- host memory ---------------------------------------------------------------------
  // Makes a piece of this process's host memory as fast for this device's copies as host memory
  // can be (CUDA: page-locked and mapped). Blocks for about 0.1 s a GiB and may be called while
  // the memory is in use: copies are correct before, during and after it. A device to which all
  // host memory is alike does nothing.
  [[nodiscard]] virtual Result<void> register_host(std::byte*, std::size_t) { return {}; }
  // Takes exactly one piece registered before; no work may be in flight on it. It must be taken
  // before the memory is unmapped.
  [[nodiscard]] virtual Result<void> unregister_host(std::byte*, std::size_t) { return {}; }

  // --- streams and events --------------------------------------------------------------
  [[nodiscard]] virtual Result<Stream> create_stream() = 0;
  // Waits for the stream's work. Stream{0} is not the caller's to destroy.
  [[nodiscard]] virtual Result<void> destroy_stream(Stream stream) = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<Event>> create_event(
      EventKind kind = EventKind::ordering) = 0;
  // Records all work posted to `stream` so far; recording again replaces. invalid_argument for
  // another device's event.
  [[nodiscard]] virtual Result<void> record(Event& event, Stream stream) = 0;
  // Work posted to `stream` after this call runs after the event's last recorded point.
  [[nodiscard]] virtual Result<void> wait_event(Stream stream, const Event& event) = 0;
  // True once the recorded point was reached. data_loss when work before it on its stream
  // failed because memory or the device died. A failure marks every event recorded after
  // it on that stream until query or synchronize has reported one of these; so a thread
  // that shares a stream records right after it posts. wait_event passes no failure on:
  // look at each event whose work you rely on.
  [[nodiscard]] virtual Result<bool> query(const Event& event) = 0;
  // Blocks this host thread until query() would no longer be false.
  [[nodiscard]] virtual Result<void> synchronize(const Event& event) = 0;
  // The number of the latest work before the event that failed on its stream, also where another
  // event has reported it; it reports nothing itself. Numbers are never given twice in a process,
  // and grow along a stream. 0: none, or the event is not reached.
  [[nodiscard]] virtual std::uint64_t latest_failure(const Event& event) const = 0;
  // The device's time between the points that two timed events stand for, negative where `end`
  // was reached first; exact to about a microsecond. Waits for nothing, and reports no failure.
  //   invalid_argument     an event that is not timed, or of another device
  //   failed_precondition  one that was never recorded, or into a graph
  //   unavailable          one whose point is not reached yet: ask again
  [[nodiscard]] virtual Result<std::chrono::nanoseconds> elapsed(const Event& start,
                                                                 const Event& end) = 0;
  // Blocks this host thread until the work posted to `stream` so far has ended, well or not.
  // For where there is no memory for an event: allocates nothing but an error's message.
  [[nodiscard]] virtual Result<void> synchronize(Stream stream) = 0;

  // Whether work posted to `stream` now goes into a graph that is being captured instead of
  // running. Events of such work cannot be queried, so most callers refuse such a stream.
  [[nodiscard]] virtual bool capturing(Stream) const noexcept { return false; }

  // Whether an event recorded on `stream` now stands for the work posted to it:
  // failed_precondition while it is capturing(), invalid_argument for a handle that is another
  // stream on every thread (CUDA's per-thread default stream), for another device's stream and,
  // where the device can tell, for one that is none.
  [[nodiscard]] virtual Result<void> check_stream(Stream stream) const;

  // --- work, all asynchronous and in stream order ---------------------------------------
  // Runs `batch` as one piece of work. Segments do not overlap each other; any of them may
  // lie on this device, on an imported slab or in this process's host memory. All or
  // nothing: an error means that nothing was queued. invalid_argument for an empty batch, a
  // null address or one that wraps; permission_denied for a destination that is mapped read_only;
  // segments of no bytes are fine. No device merges neighbours.
  [[nodiscard]] virtual Result<void> copy(CopyBatch batch, Stream stream,
                                          const CopyOptions& options = {}) = 0;
  // Whether a copy on `stream` by this method would go a way of its own. Where it would not
  // (no such call in the driver, a stream that does not take it), asking for the method is
  // still no error: the device takes another one.
  [[nodiscard]] virtual bool supports(CopyMethod method, Stream) const noexcept {
    return method == CopyMethod::each;
  }
  // permission_denied where some of these bytes are mapped read_only: what copy() and scrub() ask
  // of each destination, for who wants to know before anything else is queued.
  [[nodiscard]] virtual Result<void> check_writable(const std::byte* dst,
                                                    std::size_t bytes) const = 0;
  [[nodiscard]] virtual CopyCounts copy_counts() const noexcept = 0;
  // Makes a table of `blocks`, from which any number of copies are posted without a list of their
  // pieces. What a kernel reads of it is on its way to the device when this returns, ahead of every
  // copy posted later. The table may go as soon as its last copy is posted, and goes before the
  // device. invalid_argument for no piece, sides of different planes, a number of ids that is not
  // that of the blocks, a null plane, or an address that wraps.
  [[nodiscard]] virtual Result<std::unique_ptr<BlockTable>> prepare_blocks(BlockBatch blocks);
  // As copy() of these pieces. A table's copies all go to one stream. invalid_argument also for
  // pieces that the table does not have.
  [[nodiscard]] virtual Result<void> copy_blocks(BlockTable& table, const PieceRange& pieces,
                                                 Stream stream, const CopyOptions& options = {});
  // Whether such a copy by this method goes without a list of its pieces. Where it does not, one is
  // made for it, as it is posted.
  [[nodiscard]] virtual bool takes_blocks(CopyMethod, Stream) const noexcept { return false; }
  // Fills with zeroes.
  [[nodiscard]] virtual Result<void> scrub(std::byte* dst, std::size_t bytes, Stream stream) = 0;

 protected:
  Device() = default;
};

}  // namespace aqua::device
