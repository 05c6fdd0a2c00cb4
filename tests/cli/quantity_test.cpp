// SPDX-License-Identifier: Apache-2.0
// Option values with units: each reads exactly, or the message says what would be right.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "quantity.hpp"

#include <doctest/doctest.h>

using namespace allot::tools;

namespace {

std::int64_t size_of(char const* text) {
  return parse_bytes("--free", text);
}
std::int64_t tokens_of(char const* text) {
  return parse_tokens("--context", text);
}

template <class Read>
std::string failure_of(Read read) {
  try {
    (void)read();
  } catch (option_error const& error) { return error.what(); }
  return {};
}

std::string size_failure(char const* text) {
  return failure_of([=] { return size_of(text); });
}
std::string token_failure(char const* text) {
  return failure_of([=] { return tokens_of(text); });
}

bool has(std::string const& text, char const* part) {
  return text.find(part) != std::string::npos;
}

constexpr std::int64_t largest = INT64_MAX;

}  // namespace

TEST_CASE("sizes with units") {
  CHECK(size_of("0") == 0);
  CHECK(size_of("25769803776") == 25'769'803'776);
  CHECK(size_of("24GiB") == 25'769'803'776);
  CHECK(size_of("24GB") == 24'000'000'000);
  CHECK(size_of("24 GiB") == 25'769'803'776);
  CHECK(size_of("24gib") == 25'769'803'776);
  CHECK(size_of("512MiB") == 536'870'912);
  CHECK(size_of("7KiB") == 7168);
  CHECK(size_of("7kB") == 7000);
  CHECK(size_of("12B") == 12);
  CHECK(size_of("2TiB") == 2'199'023'255'552);
  CHECK(size_of("2TB") == 2'000'000'000'000);
  CHECK(size_of("0008") == 8);
}

TEST_CASE("fractions are rounded to the nearest byte, once") {
  CHECK(size_of("1.5GiB") == 1'610'612'736);
  CHECK(size_of("0.1GB") == 100'000'000);
  CHECK(size_of("2.9GiB") == 3'113'851'290);  // 3113851289.6
  CHECK(size_of("0.1GiB") == 107'374'182);    // 107374182.4
  CHECK(size_of("23.50GiB") == 25'232'932'864);
  CHECK(size_of("1.000B") == 1);
  CHECK(size_of("0.0005kB") == 1);  // half a byte rounds up
  CHECK(has(size_failure("1.5"), "--free 1.5: not a whole number of bytes; expected 1 or 2"));
  CHECK(has(size_failure("1.5B"), "not a whole number"));
}

TEST_CASE("the range is that of 63 bits") {
  CHECK(size_of("9223372036854775807") == largest);
  CHECK(size_of("8388607TiB") == largest - 1'099'511'627'775);
  for (auto const* text : {"9223372036854775808", "8388608TiB", "9223372036854775807.5TB",
                           "99999999999999999999999999999999999999999999"}) {
    CAPTURE(text);
    CHECK(has(size_failure(text), "expected at most 9223372036854775807 bytes"));
  }
}

TEST_CASE("what is no size is refused with its value and the forms that are") {
  for (auto const* text :
       {"-1",    "+1", "GiB",    ".5GiB",   "1.GiB", "1..5GiB", "24GiBs", "1e9",   "0x10",  "1,000",
        "1_000", " 1", "1  GiB", "24Gib/s", "nan",   "inf",     "24Gi",   "24PiB", "1GiB ", "%"}) {
    CAPTURE(text);
    auto const said = size_failure(text);
    CHECK(has(said, text));
    CHECK(has(said, "expected a size"));
  }
  CHECK(has(size_failure(""), "--free \"\": expected a size"));
  auto const ambiguous = size_failure("24G");
  CHECK(has(ambiguous, "--free 24G: ambiguous"));
  CHECK(has(ambiguous, "24GiB"));
  CHECK(has(ambiguous, "24GB"));
  CHECK(has(size_failure("512m"), "512MiB"));
  CHECK(has(size_failure("1.5k"), "1.5KiB (powers of 1024) or 1.5kB"));
}

TEST_CASE("tokens") {
  CHECK(tokens_of("8192") == 8192);
  CHECK(tokens_of("32k") == 32'768);
  CHECK(tokens_of("32K") == 32'768);
  CHECK(tokens_of("128K") == 131'072);
  CHECK(tokens_of("1M") == 1'048'576);
  CHECK(tokens_of("1.5k") == 1536);
  CHECK(tokens_of("0.5M") == 524'288);
  CHECK(has(token_failure("1.3k"), "expected 1331 or 1332"));
  CHECK(has(token_failure("9007199254740992M"), "expected at most 9223372036854775807 tokens"));
  for (auto const* text : {"0", "0k", "-1", "k", "32kk", "32KiB", "1e3", "32 tokens"}) {
    CAPTURE(text);
    CHECK(has(token_failure(text), "expected a number of tokens of at least 1"));
  }
}

TEST_CASE("counts, shares and charges") {
  auto const count = [](char const* text) {
    return failure_of([=] { return parse_count("--slots", text); });
  };
  CHECK(parse_count("--slots", "9223372036854775807") == largest);
  CHECK(has(count("9223372036854775808"), "from 1 to 9223372036854775807"));
  for (auto const* text : {"0", "-3", "1.0", "4k", "", " 4", "+4"}) {
    CAPTURE(text);
    CHECK(has(count(text), "expected an integer of at least 1"));
  }

  auto const share = [](char const* text) {
    return failure_of([=] { return parse_share("--ratio", text); });
  };
  CHECK(parse_share("--ratio", "0.9") == 0.9);
  CHECK(parse_share("--ratio", "1") == 1.0);
  for (auto const* text : {"0", "-0.5", "1.01", "90%", "nan", "inf", "", "0.9x"}) {
    CAPTURE(text);
    CHECK(has(share(text), "expected a number above 0 and at most 1"));
  }

  auto const workspace = parse_charge("--charge", "work=space=512MiB");
  CHECK(workspace.name == "work=space");
  CHECK(workspace.bytes == 536'870'912);
  auto const charge = [](char const* text) {
    return failure_of([=] { return parse_charge("--charge", text); });
  };
  CHECK(has(charge("512MiB"), "expected NAME=BYTES"));
  CHECK(has(charge("=512MiB"), "expected NAME=BYTES"));
  CHECK(has(charge("a="), "--charge a \"\": expected a size"));
  CHECK(has(charge("a=5G"), "ambiguous"));
  CHECK(has(charge("\033[31m=5"), "printable"));
}
