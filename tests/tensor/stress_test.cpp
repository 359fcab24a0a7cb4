// SPDX-License-Identifier: Apache-2.0
// Engine threads pin, write, check, free and allocate while a control thread takes slabs
// away and brings others, evacuating and promoting all the time. Every byte is compared.
//
// AQUA_STRESS_SECONDS sets the time (5), AQUA_STRESS_SEED the seed (1).
#include <algorithm>
#include <random>
#include <set>
#include <thread>

#include "tests/kill/dice.hpp"
#include "tests/tensor/stamped_tensor.hpp"
#include "tests/tensor/world.hpp"

namespace aqua::tensor {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool kWritesByCopy = false;  // it would see the device race with a migration's copy
#else
constexpr bool kWritesByCopy = true;
#endif

class Stress : public World {
 protected:
  static constexpr std::size_t kSlots = 20;
  static constexpr std::size_t kSlabs = 4;
  static constexpr std::size_t kMaxBlocks = 64;  // 1 MiB

  Stress() {
    for (std::size_t i = 0; i < kSlabs; ++i) slabs_.insert(add_slab());
  }
  void TearDown() override {
    for (Slot& slot : slots_) slot.tensor = AquaTensor();
  }

  [[nodiscard]] bool over() const { return std::chrono::steady_clock::now() > end_; }
  void work(std::uint64_t seed);
  void act(Slot& slot, Stream stream, std::mt19937_64& random);
  void replace(Slot& slot, Stream stream, std::mt19937_64& random);
  void control();
  void change_slabs(std::mt19937_64& random);
  void evacuate_leaving();
  void finish_leaving();
  void promote_some();

  const std::uint64_t seed_ = kill_test::number_from("AQUA_STRESS_SEED", 1);
  const std::chrono::steady_clock::time_point end_ =
      std::chrono::steady_clock::now() +
      std::chrono::seconds(kill_test::number_from("AQUA_STRESS_SECONDS", 5));
  std::vector<Slot> slots_ = std::vector<Slot>(kSlots);
  std::atomic<std::uint64_t> names_{0};
  std::atomic<std::uint64_t> checks_{0};
  std::atomic<std::uint64_t> discarded_{0};
  Mismatches mismatches_{0};
  std::atomic<bool> working_{true};

  // The control thread's.
  std::set<std::size_t> slabs_;
  std::set<std::size_t> leaving_;
  std::uint64_t slabs_removed_ = 0;
};

void Stress::work(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const Stream stream = gpu_->create_stream().value();
  for (std::uint64_t turn = 0; !over() && mismatches_ == 0; ++turn) {
    act(slots_[random() % kSlots], stream, random);
    if (turn % 8 != 7) continue;
    EXPECT_OK(finish(*gpu_, stream));  // no endless queue
  }
  EXPECT_OK(gpu_->destroy_stream(stream));
}

void Stress::act(Slot& slot, Stream stream, std::mt19937_64& random) {
  const auto die = random() % 100;
  if (die < 50) {
    const std::shared_lock lock(slot.mu);
    if (!slot.tensor.valid()) return;
    auto pin = post_check(*gpu_, slot, stream, random() % 2 == 0, mismatches_);
    ++checks_;
    EXPECT_TRUE(pin.ok() || slot.discardable) << pin.error().message;
    if (!pin.ok() || die >= 10) return;
    EXPECT_OK(finish(*gpu_, stream));  // now and then the pin is kept until the work is done
    return;
  }
  const std::unique_lock lock(slot.mu);
  if (!slot.tensor.valid() || die >= 90) return replace(slot, stream, random);
  const std::size_t first = random() % slot.versions.size();
  const std::size_t count = 1 + random() % (slot.versions.size() - first);
  const auto written =
      post_stamps(*gpu_, slot, stream, first, count, kWritesByCopy && random() % 2 == 0);
  if (written.ok()) return;
  EXPECT_TRUE(slot.discardable) << written.error().message;
  EXPECT_EQ(written.error().code, Code::data_loss);
  ++discarded_;
  replace(slot, stream, random);
}

// Frees the slot's tensor and allocates another, if there is room.
void Stress::replace(Slot& slot, Stream stream, std::mt19937_64& random) {
  slot.tensor = AquaTensor();
  const std::size_t blocks = 1 + random() % kMaxBlocks;
  slot.discardable = random() % 4 == 0;
  auto tensor = table_->allocate({.bytes = blocks * kBlockBytes,
                                  .discardable = slot.discardable,
                                  .host_only = random() % 10 == 0});
  if (!tensor.ok()) {
    EXPECT_EQ(tensor.error().code, Code::resource_exhausted);
    return;
  }
  slot.tensor = std::move(tensor).value();
  slot.name = ++names_;
  slot.last_version = 0;
  slot.versions.assign(blocks, 0);
  const auto written = post_stamps(*gpu_, slot, stream, 0, blocks, false);
  EXPECT_TRUE(written.ok() || slot.discardable) << written.error().message;
}

void Stress::control() {
  std::mt19937_64 random(seed_);
  while (working_ || !leaving_.empty() || !migrator_->idle()) {
    if (working_) change_slabs(random);
    migrator_->poll(random() % 4 == 0);
    for (const auto& entry : migrator_->take_lost())
      ADD_FAILURE() << entry->id() << " is lost, discardable: " << entry->options().discardable;
    evacuate_leaving();
    finish_leaving();
    if (leaving_.empty() && working_) promote_some();
    if (migrator_->copying()) {
      (void)migrator_->wait_next(std::chrono::milliseconds(1));
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(200));  // what the runtime does
    }
    if (!working_) migrator_->abandon_promotions();
  }
}

void Stress::change_slabs(std::mt19937_64& random) {
  if (slabs_.size() < kSlabs && random() % 8 == 0) slabs_.insert(add_slab());
  if (slabs_.empty() || random() % 16 != 0) return;
  const auto victim =
      std::next(slabs_.begin(), static_cast<std::ptrdiff_t>(random() % slabs_.size()));
  EXPECT_OK(peer_->retire_slab(*victim, kSlab));
  migrator_->abandon_promotions();
  leaving_.insert(*victim);
  slabs_.erase(victim);
}

void Stress::evacuate_leaving() {
  for (const std::size_t slab : leaving_) {
    for (const auto& tensor : peer_->tensors_in(slab, kSlab)) {
      if (!migrator_->has_room()) return;
      if (!table_->ensure_home(*tensor)) {
        EXPECT_TRUE(tensor->options().discardable);
        (void)tensor->lose();  // false: lost before, and pinned since
        continue;
      }
      const auto started = migrator_->start(tensor, nullptr);
      if (started.ok()) continue;
      const Code code = started.error().code;
      EXPECT_TRUE(code == Code::failed_precondition || code == Code::not_found);
    }
  }
}

void Stress::finish_leaving() {
  table_->deferred().collect();
  std::erase_if(leaving_, [this](std::size_t slab) {
    if (!peer_->slab_empty(slab, kSlab)) return false;
    remove_slab(slab);
    ++slabs_removed_;
    return true;
  });
}

void Stress::promote_some() {
  for (const auto& tensor : table_->to_promote()) {
    if (!migrator_->has_room()) return;
    auto place = table_->place_away(tensor);
    if (!place.ok()) return;
    (void)migrator_->start(tensor, std::move(place).value());  // in use or gone: another time
  }
}

TEST_F(Stress, NoByteChangesWhileTensorsAndSlabsComeAndGo) {
  std::thread controller([this] { control(); });
  std::vector<std::thread> workers;
  for (std::uint64_t i = 1; i <= 3; ++i) workers.emplace_back([this, i] { work(seed_ * 100 + i); });
  for (std::thread& worker : workers) worker.join();
  working_ = false;
  controller.join();
  for (Slot& slot : slots_) {
    if (slot.tensor.valid() && !slot.tensor.lost()) {
      EXPECT_TRUE(succeeds(post_check(*gpu_, slot, a_, false, mismatches_)));
    }
  }
  EXPECT_OK(finish(*gpu_, a_));
  EXPECT_EQ(mismatches_, 0U) << "seed " << seed_;
  const MigratorStats& moved = migrator_->stats();
  RecordProperty("checks", std::to_string(checks_));
  std::printf("%lu checks, %zu evacuations, %zu promotions, %lu slabs removed, %lu discarded\n",
              checks_.load(), moved.evacuations, moved.promotions, slabs_removed_,
              discarded_.load());
  EXPECT_GT(moved.evacuations, 0U);
  EXPECT_GT(moved.promotions, 0U);
  EXPECT_GT(slabs_removed_, 0U);
}

}  // namespace
}  // namespace aqua::tensor
