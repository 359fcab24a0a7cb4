// SPDX-License-Identifier: Apache-2.0
// SharedText makes a text that is dear to make once for all who ask while the one before is made.
// So one is made at a time, and any number of callers holds one, however many they are.
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
  // Throws std::bad_alloc where there was no memory for it.
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
        } catch (const std::bad_alloc&) {  // told to each below
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
