// SPDX-License-Identifier: Apache-2.0
// SharedText makes an expensive text for all callers that ask while the previous one is being made:
// one is made at a time, and all of these share it.
//
// Threads: get() may be called concurrently.
#pragma once

#include <memory>
#include <new>
#include <span>
#include <string>

#include "coordinator/common/thread_pool.hpp"
#include "coordinator/service/turns.hpp"

namespace aqua::coordinator {

class SharedText {
 public:
  using Text = std::shared_ptr<const std::string>;

  // What make(), which returns a string, says after this call began: here, or for another caller.
  // Throws std::bad_alloc where make() threw, which is for want of memory.
  template <typename Make>
  [[nodiscard]] Text get(Make&& make) {
    Asked asked;
    {
      // Those who wait, and the one who makes it, leave the pool's places to shorter work.
      const ThreadPool::Blocking blocking;
      turns_.take(asked, [&](std::span<Asked* const> all) {
        Text text;
        try {
          text = std::make_shared<const std::string>(make());
        } catch (...) {  // nobody may be left waiting: told to each below
        }
        for (Asked* each : all) each->text = text;
      });
    }
    if (asked.text == nullptr) throw std::bad_alloc();
    return asked.text;
  }

 private:
  struct Asked {
    Text text;
  };
  Turns<Asked> turns_;
};

}  // namespace aqua::coordinator
