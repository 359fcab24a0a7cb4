// SPDX-License-Identifier: Apache-2.0
// An authority that signs certificates of couriers, made on the spot.
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

namespace aqua::test {

class Authority {
 public:
  // Its certificate is written to `path`.
  explicit Authority(const std::string& path)
      : own_(make("an authority", pair_.get(), "critical,CA:TRUE", NID_basic_constraints, 1)) {
    write(path, [&](std::FILE* file) { return ::PEM_write_X509(file, own_.get()); });
  }
  // A certificate for a DNS name, and its key. `days`: until it expires; less than 0: it has.
  void issue(const std::string& name, const std::string& certificate, const std::string& key,
             int days = 1) const {
    const Key pair(EVP_EC_gen("P-256"), &::EVP_PKEY_free);
    const Certificate one = make(name, pair.get(), "DNS:" + name, NID_subject_alt_name, days);
    write(certificate, [&](std::FILE* file) { return ::PEM_write_X509(file, one.get()); });
    write(key, [&](std::FILE* file) {
      return ::PEM_write_PrivateKey(file, pair.get(), nullptr, nullptr, 0, nullptr, nullptr);
    });
  }

 private:
  using Key = std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)>;
  using Certificate = std::unique_ptr<X509, decltype(&::X509_free)>;

  [[nodiscard]] Certificate make(const std::string& name, EVP_PKEY* of,
                                 const std::string& extension, int kind, int days) const {
    constexpr long kDay = 86'400;
    Certificate one(::X509_new(), &::X509_free);
    ::X509_set_version(one.get(), X509_VERSION_3);
    ::ASN1_INTEGER_set(::X509_get_serialNumber(one.get()), ++last_);
    ::X509_gmtime_adj(::X509_getm_notBefore(one.get()), -7 * kDay);
    ::X509_gmtime_adj(::X509_getm_notAfter(one.get()), days * kDay);
    ::X509_set_pubkey(one.get(), of);
    ::X509_NAME_add_entry_by_txt(::X509_get_subject_name(one.get()), "CN", MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    ::X509_set_issuer_name(one.get(), ::X509_get_subject_name(own_ ? own_.get() : one.get()));
    const std::unique_ptr<X509_EXTENSION, decltype(&::X509_EXTENSION_free)> said(
        ::X509V3_EXT_conf_nid(nullptr, nullptr, kind, extension.c_str()), &::X509_EXTENSION_free);
    ::X509_add_ext(one.get(), said.get(), -1);
    EXPECT_GT(::X509_sign(one.get(), pair_.get(), ::EVP_sha256()), 0);
    return one;
  }
  template <typename Print>
  static void write(const std::string& path, const Print& print) {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    ASSERT_NE(file, nullptr) << path;
    EXPECT_EQ(print(file), 1);
    std::fclose(file);
    EXPECT_EQ(::chmod(path.c_str(), 0600), 0);
  }

  mutable long last_ = 0;
  const Key pair_{EVP_EC_gen("P-256"), &::EVP_PKEY_free};
  const Certificate own_{nullptr, &::X509_free};
};

}  // namespace aqua::test
