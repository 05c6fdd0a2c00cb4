// SPDX-License-Identifier: Apache-2.0
#include <allot/runtime/page_set.hpp>

#include <stdexcept>
#include <string>

namespace allot::runtime {

page_set::page_set(std::int64_t ids) {
  if (ids < 0 || ids > INT32_MAX) {
    throw std::invalid_argument("page_set: " + std::to_string(ids) +
                                " ids; they are int32, from 0");
  }
  ids_ = static_cast<std::int32_t>(ids);
  std::size_t words = 0;
  std::size_t of_level = static_cast<std::size_t>(ids + 63) / 64;
  while (of_level > 0) {
    starts_[levels_] = words;
    ++levels_;
    words += of_level;
    if (of_level == 1) { break; }
    of_level = (of_level + 63) / 64;
  }
  words_.resize(words);
}

void page_set::insert_range(std::int32_t first, std::int32_t last) {
  for (std::int32_t id = first; id < last;) {
    std::size_t const at = word_of(id);
    unsigned const bit = bit_of(id);
    std::int32_t const room = 64 - static_cast<std::int32_t>(bit);
    std::int32_t const take = last - id < room ? last - id : room;
    std::uint64_t const ones = take == 64 ? UINT64_MAX : (std::uint64_t{1} << take) - 1;
    std::uint64_t const before = words_[at];
    words_[at] = before | ones << bit;
    count_ += std::popcount(words_[at]) - std::popcount(before);
    if (before == 0) { mark(at); }
    id += take;
  }
}

void page_set::take_lowest(std::int32_t* out, std::int32_t k) noexcept {
  while (k > 0) {
    std::size_t const at = lowest_;
    std::uint64_t word = words_[at];
    std::int32_t const in_word = std::popcount(word);
    std::int32_t const taken = in_word < k ? in_word : k;
    if (word == UINT64_MAX && taken == 64) {
      for (int bit = 0; bit < 64; ++bit) {
        out[bit] = id_of(at, bit);
      }
      word = 0;
    } else {
      for (std::int32_t i = 0; i < taken; ++i) {
        out[i] = id_of(at, std::countr_zero(word));
        word &= word - 1;
      }
    }
    words_[at] = word;
    count_ -= taken;
    if (word == 0) { unmark(at); }
    out += taken;
    k -= taken;
  }
}

std::int32_t page_set::highest_absent(std::int32_t below) const noexcept {
  if (below == 0) { return none; }
  std::size_t at = word_of(below - 1);
  std::uint64_t absent = ~words_[at] & (UINT64_MAX >> (63U - bit_of(below - 1)));
  while (absent == 0) {
    if (at == 0) { return none; }
    --at;
    absent = ~words_[at];
  }
  return id_of(at, 63 - std::countl_zero(absent));
}

}  // namespace allot::runtime
