// SPDX-License-Identifier: Apache-2.0
#include "net_bench/bare_tls.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "samples.hpp"
#include "tools/tls/tls_types.hpp"

namespace aqua::bench {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;  // that is written or read in one call
// Which each side goes through again and again, as couriers go through segments: more than caches.
constexpr std::size_t kMemory = std::size_t{64} << 20;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "net_bench: %s: %s\n", what, tls::tls_error("TLS").message.c_str());
  std::_Exit(1);
}

tls::UniqueSslContext make_context(const Certificates& identity) {
  tls::UniqueSslContext context(::SSL_CTX_new(::TLS_method()));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  ::SSL_CTX_set_num_tickets(context.get(), 0);
  ::SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  if (::SSL_CTX_use_certificate_chain_file(context.get(), identity.certificate.c_str()) != 1 ||
      ::SSL_CTX_use_PrivateKey_file(context.get(), identity.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      ::SSL_CTX_load_verify_file(context.get(), identity.authority.c_str()) != 1) {
    fail(identity.certificate.c_str());
  }
  return context;
}

sockaddr_in loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  return address;
}

}  // namespace

void BareTls::read_all(const Certificates& identity, int port, int in) {
  const tls::UniqueSslContext context = make_context(identity);
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  (void)::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const sockaddr_in address = loopback(port);
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener, 64) != 0) {
    fail("listen");
  }
  std::thread([&] {
    for (;;) {
      const int fd = ::accept(listener, nullptr, nullptr);
      if (fd < 0) return;
      std::thread([fd, &context] {
        const tls::UniqueSsl ssl(::SSL_new(context.get()));
        ::SSL_set_fd(ssl.get(), fd);
        if (::SSL_accept(ssl.get()) != 1) fail("accept");
        std::vector<std::byte> into(kMemory);
        std::size_t at = 0, got = 0;
        while (::SSL_read_ex(ssl.get(), into.data() + at, std::min(kPiece, kMemory - at), &got) ==
               1) {
          at = (at + got) % kMemory;
        }
        // The other side has said that it is done, and waits to hear that all has come.
        ::SSL_shutdown(ssl.get());
        ::close(fd);
      }).detach();
    }
  }).detach();
  for (char order = 0; ::read(in, &order, 1) == 1;) continue;
}

double BareTls::measure(unsigned connections, std::uint64_t bytes) const {
  const tls::UniqueSslContext context = make_context(writer_);
  const std::vector<std::byte> memory(kMemory, std::byte{7});
  std::vector<tls::UniqueSsl> all(connections);
  std::vector<int> sockets;
  for (tls::UniqueSsl& ssl : all) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(port_);
    while (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      std::this_thread::yield();  // the other process has begun just now
    const int yes = 1;
    (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    ssl.reset(::SSL_new(context.get()));
    ::SSL_set_fd(ssl.get(), fd);
    if (::SSL_connect(ssl.get()) != 1) fail("connect");
    sockets.push_back(fd);
  }
  const double begin = now();
  std::vector<std::thread> threads;
  for (const tls::UniqueSsl& ssl : all) {
    threads.emplace_back([&] {
      for (std::uint64_t sent = 0; sent < bytes;) {
        const std::size_t at = sent % kMemory;
        const std::size_t part = std::min<std::uint64_t>(bytes - sent, kPiece);
        if (::SSL_write(ssl.get(), memory.data() + at, static_cast<int>(part)) <= 0) fail("write");
        sent += part;
      }
      ::SSL_shutdown(ssl.get());
      std::byte none{};
      (void)::SSL_read(ssl.get(), &none, 1);  // until the other side has said that it is done
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double seconds = now() - begin;
  for (const int fd : sockets) ::close(fd);
  return static_cast<double>(bytes) * connections / seconds;
}

}  // namespace aqua::bench
