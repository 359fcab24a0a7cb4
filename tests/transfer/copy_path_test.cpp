// SPDX-License-Identifier: Apache-2.0
// What each copy of a transfer says that it crosses, by which devices choose how many
// multiprocessors its kernel takes.
#include <gtest/gtest.h>

#include <set>

#include "tests/transfer/faulty_device.hpp"
#include "tests/transfer/mover_fixture.hpp"

namespace aqua::test {
namespace {

using device::CopyPath;
using transfer::Direction;
using transfer::Link;
using transfer::Way;

// The paths of all copies that are posted to it.
class PathsSeen final : public FaultyDevice {
 public:
  using FaultyDevice::FaultyDevice;
  Result<void> copy(device::CopyBatch batch, Stream stream,
                    const device::CopyOptions& options) override {
    paths.insert(options.path);
    return FaultyDevice::copy(std::move(batch), stream, options);
  }
  Result<void> copy_blocks(device::BlockTable& table, const device::PieceRange& pieces,
                           Stream stream, const device::CopyOptions& options) override {
    paths.insert(options.path);
    return FaultyDevice::copy_blocks(table, pieces, stream, options);
  }
  std::set<CopyPath> paths{};
};

class Paths : public MoverTest {
 protected:
  [[nodiscard]] static Way way() { return std::get<1>(GetParam()); }
  [[nodiscard]] std::set<CopyPath> of(Link link, Direction direction) {
    PathsSeen seen(*dev);
    transfer::MoverOptions options = mover_options(way());
    options.staging.poison_on_release = false;  // which would be copies, too
    transfer::Mover over(seen, options);
    transfer::TransferRequest r = request(direction);
    r.link = link;
    auto prepared = must(over.prepare(r));
    must(prepared.post(stream));
    must(prepared.ticket().wait());
    return seen.paths;
  }
};

TEST_P(Paths, AreTheLinksAndWithinTheDeviceWhereItStages) {
  const auto expect = [&](Link link, Direction direction, CopyPath path) {
    std::set<CopyPath> wanted{path};
    if (way() == Way::staged) wanted.insert(CopyPath::within_device);
    EXPECT_EQ(of(link, direction), wanted) << to_string(link) << ' ' << to_string(direction);
  };
  expect(Link::local, Direction::offload, CopyPath::within_device);
  expect(Link::local, Direction::fetch, CopyPath::within_device);
  expect(Link::peer, Direction::offload, CopyPath::peer);
  expect(Link::peer, Direction::fetch, CopyPath::peer);
  expect(Link::host, Direction::offload, CopyPath::to_host);
  expect(Link::host, Direction::fetch, CopyPath::from_host);
}

INSTANTIATE_TEST_SUITE_P(Devices, Paths, every_device_and_way(),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace aqua::test
