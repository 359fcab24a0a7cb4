// SPDX-License-Identifier: Apache-2.0
// Certificates with their keys, made on the spot: of an authority, or such that vouch for
// themselves.
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

using TestKey = std::unique_ptr<EVP_PKEY, decltype(&::EVP_PKEY_free)>;
using TestCertificate = std::unique_ptr<X509, decltype(&::X509_free)>;

inline TestKey make_key() {
  return {EVP_EC_gen("P-256"), &::EVP_PKEY_free};
}

// Who signs. Without a certificate the one that is made signs itself.
struct Signer {
  EVP_PKEY* key;
  X509* certificate = nullptr;
};

// Makes a certificate of `name` and `key`, with one extension (NID_subject_alt_name, "DNS:a.test").
// `days`: until it expires; less than 0: it has. It begins `days_ago`.
inline TestCertificate sign(const std::string& name, EVP_PKEY* key, int extension,
                            const std::string& says, int days, const Signer& by, long serial,
                            int days_ago = 7) {
  constexpr long kDay = 86'400;
  TestCertificate made(::X509_new(), &::X509_free);
  ::X509_set_version(made.get(), X509_VERSION_3);
  ::ASN1_INTEGER_set(::X509_get_serialNumber(made.get()), serial);
  ::X509_gmtime_adj(::X509_getm_notBefore(made.get()), -days_ago * kDay);
  ::X509_gmtime_adj(::X509_getm_notAfter(made.get()), days * kDay);
  ::X509_set_pubkey(made.get(), key);
  ::X509_NAME_add_entry_by_txt(::X509_get_subject_name(made.get()), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509* const issuer = by.certificate == nullptr ? made.get() : by.certificate;
  ::X509_set_issuer_name(made.get(), ::X509_get_subject_name(issuer));
  const std::unique_ptr<X509_EXTENSION, decltype(&::X509_EXTENSION_free)> said(
      ::X509V3_EXT_conf_nid(nullptr, nullptr, extension, says.c_str()), &::X509_EXTENSION_free);
  ::X509_add_ext(made.get(), said.get(), -1);
  EXPECT_GT(::X509_sign(made.get(), by.key, ::EVP_sha256()), 0);
  return made;
}

// Writes a file of mode 0600, by one of OpenSSL's functions that write to a file.
template <typename Print>
void write_pem(const std::string& path, const Print& print) {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr) << path;
  EXPECT_EQ(print(file), 1);
  std::fclose(file);
  EXPECT_EQ(::chmod(path.c_str(), 0600), 0);
}

// `passphrase`: locks the key.
inline void write_both(const std::string& certificate, X509* own, const std::string& key,
                       EVP_PKEY* pair, const char* passphrase = nullptr) {
  write_pem(certificate, [&](std::FILE* file) { return ::PEM_write_X509(file, own); });
  write_pem(key, [&](std::FILE* file) {
    return ::PEM_write_PrivateKey(file, pair, passphrase == nullptr ? nullptr : ::EVP_aes_256_cbc(),
                                  nullptr, 0, nullptr, const_cast<char*>(passphrase));
  });
}

// Writes one for 127.0.0.1 that vouches for itself, and its key.
inline void make_certificate(const std::string& certificate, const std::string& key, int days = 1,
                             const char* passphrase = nullptr) {
  const TestKey pair = make_key();
  const TestCertificate own = sign("aqua test", pair.get(), NID_subject_alt_name, "IP:127.0.0.1",
                                   days, {pair.get()}, /*serial=*/1);
  write_both(certificate, own.get(), key, pair.get(), passphrase);
}

// Signs certificates for DNS names.
class Authority {
 public:
  // Its own is written to `path`.
  explicit Authority(const std::string& path) {
    write_pem(path, [&](std::FILE* file) { return ::PEM_write_X509(file, own_.get()); });
  }
  void issue(const std::string& name, const std::string& certificate, const std::string& key,
             int days = 1, int days_ago = 7) const {
    const TestKey pair = make_key();
    const TestCertificate one = sign(name, pair.get(), NID_subject_alt_name, "DNS:" + name, days,
                                     {pair_.get(), own_.get()}, ++last_, days_ago);
    write_both(certificate, one.get(), key, pair.get());
  }

 private:
  mutable long last_ = 1;
  const TestKey pair_ = make_key();
  const TestCertificate own_ = sign("an authority", pair_.get(), NID_basic_constraints,
                                    "critical,CA:TRUE", 1, {pair_.get()}, last_);
};

}  // namespace aqua::testing
