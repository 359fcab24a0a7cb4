// SPDX-License-Identifier: Apache-2.0
#include "tests/kill/tenant.hpp"

#include <chrono>

#include "base/concat.hpp"
#include "base/try.hpp"

namespace aqua::kill_test {
namespace {

constexpr std::chrono::milliseconds kBreath{2};  // between passes: several nodes share few cores
constexpr std::uint16_t kObjects = 1 << 12;

std::span<std::uint64_t> words_of(std::byte* address, std::size_t bytes) {
  return {reinterpret_cast<std::uint64_t*>(emulated::kernel_view(address)),
          bytes / sizeof(std::uint64_t)};
}

}  // namespace

Result<std::unique_ptr<Tenant>> Tenant::open(Runtime& runtime, const Options& options) {
  AQUA_ASSIGN(const Stream stream, emulated::create_stream(runtime));
  std::unique_ptr<Tenant> tenant(new Tenant(runtime, options, stream));
  Tenant& self = *tenant;
  const MutexLock lock(self.mu_);
  AQUA_ASSIGN(self.engine_, emulated::allocate(runtime, options.engine_bytes));
  self.engine_owner_ = {options.tenant, 0, 1};
  AQUA_TRY(emulated::launch(
      runtime, stream,
      [data = self.engine_.data(), bytes = self.engine_.bytes(), owner = self.engine_owner_] {
        write_stamps(words_of(data, bytes), owner);
      }));
  for (std::size_t i = 0; i < options.tensors; ++i) AQUA_TRY(self.add());
  return tenant;
}

Tenant::Tenant(Runtime& runtime, const Options& options, Stream stream)
    : runtime_(runtime), options_(options), stream_(stream), random_(options.tenant) {}

Tenant::~Tenant() {
  {
    const MutexLock lock(mu_);
    stopping_ = true;
    stop_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  (void)emulated::destroy_stream(runtime_, stream_);  // waits for the work on what goes next
}

void Tenant::start() {
  thread_ = std::thread([this] { run(); });
}

void Tenant::run() {
  const MutexLock lock(mu_);
  while (!stopping_) {
    pass();
    ++findings_.passes;
    stop_.wait_until(mu_, std::chrono::steady_clock::now() + kBreath);
  }
}

void Tenant::pass() {
  check_engine();
  for (Kept& kept : kept_) {
    check(kept);
    if (random_() % 4 == 0) rewrite(kept);
  }
  if (!kept_.empty()) replace(kept_[random_() % kept_.size()]);
}

Findings Tenant::verify() {
  const MutexLock lock(mu_);
  check_engine();
  for (Kept& kept : kept_) check(kept);
  return findings_;
}

Result<void> Tenant::add() {
  AQUA_ASSIGN(AquaTensor tensor,
              runtime_.allocate({.bytes = options_.tensor_bytes, .name = concat(next_object_)}));
  Tier tier{};
  check_fresh(tensor, tier);
  kept_.push_back({std::move(tensor), {options_.tenant, next_object_, 0}});
  next_object_ = static_cast<std::uint16_t>((next_object_ + 1) % kObjects);
  rewrite(kept_.back());
  return {};
}

void Tenant::replace(Kept& kept) {
  std::swap(kept, kept_.back());
  kept_.pop_back();
  if (const auto added = add(); !added.ok()) failed(added.error(), "allocate");
}

void Tenant::rewrite(Kept& kept) {
  ++kept.owner.version;
  stamp_over(kept.tensor, kept.owner);
}

void Tenant::stamp_over(AquaTensor& tensor, const Owner& owner) {
  auto pin = tensor.pin(Access::write, stream_);
  if (!pin.ok()) return failed(pin.error(), concat("write pin of ", owner.object));
  const auto launched =
      emulated::launch(runtime_, stream_, [data = pin->data(), bytes = pin->bytes(), owner] {
        write_stamps(words_of(data, bytes), owner);
      });
  if (!launched.ok()) failed(launched.error(), "write");
}

template <typename Look>
Result<Odd> Tenant::look_at(AquaTensor& tensor, Tier& tier, Look look) {
  Odd odd;
  {
    AQUA_ASSIGN(const Pin pin, tensor.pin(Access::read, stream_));
    tier = pin.tier();
    AQUA_TRY(
        emulated::launch(runtime_, stream_, [&odd, look, data = pin.data(), bytes = pin.bytes()] {
          odd = look(words_of(data, bytes));
        }));
  }
  AQUA_TRY(emulated::synchronize(runtime_, stream_));
  return odd;
}

void Tenant::check(Kept& kept) {
  Tier tier{};
  const auto odd = look_at(kept.tensor, tier,
                           [owner = kept.owner](auto words) { return mismatches(words, owner); });
  if (!odd.ok()) return failed(odd.error(), concat("read of ", kept.owner.object));
  found(findings_.mismatches, *odd,
        concat("tensor ", kept.owner.object, " version ", kept.owner.version, " in tier ",
               to_string(tier)));
}

void Tenant::check_fresh(AquaTensor& tensor, Tier& tier) {
  const auto odd =
      look_at(tensor, tier, [us = options_.tenant](auto words) { return strangers(words, us); });
  if (!odd.ok()) return failed(odd.error(), "read of a new tensor");
  found(findings_.strangers, *odd, concat("new tensor in tier ", to_string(tier)));
}

void Tenant::check_engine() {
  Odd odd;
  const auto launched =
      emulated::launch(runtime_, stream_,
                       [&odd, data = engine_.data(), bytes = engine_.bytes(),
                        owner = engine_owner_] { odd = mismatches(words_of(data, bytes), owner); });
  const auto done = launched.ok() ? emulated::synchronize(runtime_, stream_) : launched;
  if (!done.ok()) return failed(done.error(), "engine memory");
  found(findings_.mismatches, odd, "engine memory");
}

std::size_t Tenant::sweep(std::size_t most_bytes) {
  constexpr std::size_t kPiece = std::size_t{256} << 10;
  const MutexLock lock(mu_);
  std::vector<AquaTensor> held;  // until the end, so that each is another place
  std::size_t looked_at = 0;
  for (std::size_t bytes = 0; bytes < most_bytes; bytes += kPiece) {
    auto tensor = runtime_.allocate({.bytes = kPiece, .name = "sweep"});
    if (!tensor.ok()) break;  // the host tier is full: all the exits are taken
    Tier tier{};
    check_fresh(*tensor, tier);
    if (tier != Tier::peer) break;  // no peer memory is left
    looked_at += kPiece;
    held.push_back(std::move(*tensor));
    stamp_over(held.back(), {options_.tenant, kObjects - 1, 0});  // for the next tenant to not see
  }
  return looked_at;
}

void Tenant::failed(const Error& error, const std::string& what) {
  ++(error.code == Code::data_loss ? findings_.lost : findings_.errors);
  if (findings_.first.empty())
    findings_.first = concat(what, ": ", to_string(error.code), ": ", error.message);
}

void Tenant::found(std::size_t& counter, const Odd& odd, const std::string& what) {
  if (odd.count == 0) return;
  counter += odd.count;
  if (!findings_.first.empty()) return;
  findings_.first = concat(what, ": ", odd.count, " words, the first at ", odd.first_index,
                           " is tenant ", tenant_of(odd.first_word), "'s (", odd.first_word, ")");
}

}  // namespace aqua::kill_test
