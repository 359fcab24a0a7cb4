// SPDX-License-Identifier: Apache-2.0
// Certificates that vouch for themselves, for 127.0.0.1, made on the spot with their keys.
//
// Threads: one.
#pragma once

#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdio>
#include <memory>
#include <string>

namespace aqua::testing {

// Writes a certificate and its key, of mode 0600. `days`: until it expires; less than 0: it has.
// `passphrase`: locks the key.
inline void make_certificate(const std::string& certificate, const std::string& key, int days = 1,
                             const char* passphrase = nullptr) {
  constexpr long kDay = 86'400;
  const std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)> pair(EVP_EC_gen("P-256"),
                                                                   &::EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&::X509_free)> own(::X509_new(), &::X509_free);
  ::X509_set_version(own.get(), X509_VERSION_3);
  ::ASN1_INTEGER_set(::X509_get_serialNumber(own.get()), 1);
  ::X509_gmtime_adj(::X509_getm_notBefore(own.get()), -7 * kDay);
  ::X509_gmtime_adj(::X509_getm_notAfter(own.get()), days * kDay);
  ::X509_set_pubkey(own.get(), pair.get());
  X509_NAME* const name = ::X509_get_subject_name(own.get());
  ::X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("aqua test"), -1, -1, 0);
  ::X509_set_issuer_name(own.get(), name);
  const std::unique_ptr<X509_EXTENSION, decltype(&::X509_EXTENSION_free)> address(
      ::X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "IP:127.0.0.1"),
      &::X509_EXTENSION_free);
  ::X509_add_ext(own.get(), address.get(), -1);
  EXPECT_GT(::X509_sign(own.get(), pair.get(), ::EVP_sha256()), 0);

  const auto write = [](const std::string& path, auto print) {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    ASSERT_NE(file, nullptr) << path;
    EXPECT_EQ(print(file), 1);
    std::fclose(file);
    EXPECT_EQ(::chmod(path.c_str(), 0600), 0);
  };
  write(certificate, [&](std::FILE* file) { return ::PEM_write_X509(file, own.get()); });
  write(key, [&](std::FILE* file) {
    return ::PEM_write_PrivateKey(file, pair.get(),
                                  passphrase == nullptr ? nullptr : ::EVP_aes_256_cbc(), nullptr, 0,
                                  nullptr, const_cast<char*>(passphrase));
  });
}

}  // namespace aqua::testing
