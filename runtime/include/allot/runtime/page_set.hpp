// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace allot::runtime {

/// A set of ids of [0, ids): a bitmap, above it a bitmap of its words that are not empty, and so on
/// up to one word. The lowest id is known at any time. Pages in the first place; slots as well.
///
/// Nothing is allocated after construction. Copies are sets of their own. Not thread-safe.
///
/// \cost  an id takes 1 bit and 1/63 of one; `levels` is 1 up to 64 ids, 3 up to 262,144, 6 at most
class page_set {
 public:
  static constexpr std::int32_t none = -1;  ///< where there is no such id

  page_set() = default;

  /// The empty set.
  ///
  /// \param ids  of [0, INT32_MAX]
  /// \errors     std::invalid_argument, std::bad_alloc
  explicit page_set(std::int64_t ids);

  /// Inserts [first, last); ids that are in already stay.
  ///
  /// \requires  0 <= first <= last <= ids()
  /// \cost      O(ids / 64)
  void insert_range(std::int32_t first, std::int32_t last);

  std::int32_t ids() const noexcept { return ids_; }
  std::int32_t count() const noexcept { return count_; }

  /// \requires  0 <= id < ids(), here and below
  bool contains(std::int32_t id) const noexcept {
    return (words_[word_of(id)] >> bit_of(id) & 1U) != 0;
  }

  /// \returns  whether it was not in before
  /// \cost     O(1), and O(levels) when it is the first of its 64
  bool insert(std::int32_t id) noexcept {
    std::size_t const at = word_of(id);
    std::uint64_t const before = words_[at];
    std::uint64_t const bit = std::uint64_t{1} << bit_of(id);
    words_[at] = before | bit;
    if ((before & bit) != 0) { return false; }
    ++count_;
    if (before == 0) { mark(at); }
    return true;
  }

  /// \returns  whether it was in
  /// \cost     O(1), and O(levels) when it is the last of its 64
  bool erase(std::int32_t id) noexcept {
    std::size_t const at = word_of(id);
    std::uint64_t const bit = std::uint64_t{1} << bit_of(id);
    if ((words_[at] & bit) == 0) { return false; }
    words_[at] &= ~bit;
    --count_;
    if (words_[at] == 0) { unmark(at); }
    return true;
  }

  /// The lowest id, or `none`.
  ///
  /// \cost  O(1)
  std::int32_t first() const noexcept {
    return count_ == 0 ? none : id_of(lowest_, std::countr_zero(words_[lowest_]));
  }

  /// Takes the lowest id out, or returns `none`.
  ///
  /// \cost  O(1), and O(levels) when it is the last of its 64
  std::int32_t take_first() noexcept {
    if (count_ == 0) { return none; }
    std::size_t const at = lowest_;
    std::uint64_t const word = words_[at];
    words_[at] = word & (word - 1);
    --count_;
    if (words_[at] == 0) { unmark(at); }
    return id_of(at, std::countr_zero(word));
  }

  /// Takes the `k` lowest ids out, a whole word at a time.
  ///
  /// \param out  [k] receives them, ascending
  /// \requires   0 <= k <= count()
  /// \cost       O(k + levels * k / 64) where the ids lie together
  void take_lowest(std::int32_t* out, std::int32_t k) noexcept;

  /// The highest id of [0, below) that is not in, or `none`.
  ///
  /// \requires  0 <= below <= ids()
  /// \cost      O(1) for each 64 ids at the top that are in
  std::int32_t highest_absent(std::int32_t below) const noexcept;

 private:
  static constexpr int most_levels = 6;  // 64^6 > 2^31

  static std::size_t word_of(std::int32_t id) noexcept {
    return static_cast<std::uint32_t>(id) >> 6;
  }
  static unsigned bit_of(std::int32_t id) noexcept { return static_cast<std::uint32_t>(id) & 63U; }
  static std::int32_t id_of(std::size_t word, int bit) noexcept {
    return static_cast<std::int32_t>(word << 6) + bit;
  }

  /// Word `at` of the ids has become non-empty: say so above, and remember the lowest.
  void mark(std::size_t at) noexcept {
    if (at < lowest_) { lowest_ = at; }
    for (int level = 1; level < levels_; ++level) {
      std::uint64_t& above = words_[starts_[level] + (at >> 6)];
      std::uint64_t const before = above;
      above = before | std::uint64_t{1} << (at & 63U);
      if (before != 0) { return; }
      at >>= 6;
    }
  }

  /// Word `at` of the ids has become empty: say so above, as far as that empties words, and where
  /// it was the lowest find the next one below the first word that is not empty.
  void unmark(std::size_t at) noexcept {
    bool const was_lowest = at == lowest_;
    for (int level = 1; level < levels_; ++level) {
      std::uint64_t& above = words_[starts_[level] + (at >> 6)];
      above &= ~(std::uint64_t{1} << (at & 63U));
      at >>= 6;
      if (above == 0) { continue; }
      if (!was_lowest) { return; }
      for (; level > 0; --level) {
        at = at << 6 | static_cast<std::size_t>(std::countr_zero(words_[starts_[level] + at]));
      }
      lowest_ = at;
      return;
    }
    lowest_ = nowhere;  // nothing is left
  }

  static constexpr std::size_t nowhere = SIZE_MAX;

  std::vector<std::uint64_t> words_;      // the bitmap of the ids, then each level above it
  std::size_t starts_[most_levels] = {};  // first word of each level in words_
  std::size_t lowest_ = nowhere;          // the first word of the ids that is not empty
  int levels_ = 0;
  std::int32_t ids_ = 0;
  std::int32_t count_ = 0;
};

}  // namespace allot::runtime
