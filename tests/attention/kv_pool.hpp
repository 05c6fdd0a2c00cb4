// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "card.hpp"
#include "dice.hpp"
#include "floats.hpp"

#include <allot/attention/calls.hpp>
#include <allot/attention/kv_page.hpp>
#include <allot/runtime/arena.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace attention_test {

/// What a pool holds, as numbers.
struct kv_shape {
  element dtype = element::bf16;
  std::int32_t head_dim = 64, v_head_dim = 64;
  bool v_is_k = false;  ///< V is the first elements of K's rows
  std::int32_t heads = 1, page_tokens = 16;
  bool row_scales = false;  ///< fp32 of each token and head; fp8 only
  float k_scale = 1.0F, v_scale = 1.0F;
};

/// Where it is laid: by hand with gaps anywhere, or by a plan and an arena.
enum class laid : std::uint8_t { by_hand, flat, layer_major, page_major };

struct kv_placing {
  laid how = laid::by_hand;
  allot::kv_order order = allot::kv_order::token_major;
  std::int32_t usable_pages = 1, sentinel_pages = 1;
  bool sentinels_at_back = false;
  std::int32_t layers = 1, layer = 0;  ///< of an arena
  bool second_pool = false;            ///< of an arena: half the anchor's page, two in a block
  std::int32_t block_pages = 1;        ///< by hand
  bool gaps = false;                   ///< by hand
  std::int32_t pages_before = 0;       ///< by hand: ids before the first one, that take no memory
  std::byte poison{0xFF};              ///< of every byte that no token has
};

/// The four kinds of rows of a page.
enum class plane : std::uint8_t { k, v, k_scales, v_scales };

/// A pool on the card, and its image on the host. The image is written and read by addresses that
/// are computed here, from the documented order of pages, tokens and heads.
class kv_pool {
 public:
  kv_pool(kv_shape const& shape, kv_placing const& placing, dice& d);

  kv_shape const& shape() const { return shape_; }
  allot::kv_cache const& cache() const { return cache_; }  ///< what operators are told
  std::int32_t first_page() const { return first_page_; }
  std::int32_t end_page() const { return first_page_ + placing_.usable_pages; }
  std::int32_t all_pages() const {  ///< ids below it have a place
    return placing_.pages_before + placing_.usable_pages + placing_.sentinel_pages;
  }
  bool gives_out(std::int64_t page) const { return first_page() <= page && page < end_page(); }

  std::byte* at(plane rows, std::int32_t page, std::int32_t token, std::int32_t head);
  std::byte const* at(plane rows, std::int32_t page, std::int32_t token, std::int32_t head) const;

  /// K and V of a token, at random.
  ///
  /// \param gain  of K's numbers
  void write_token(dice& d, std::int32_t page, std::int32_t token, double gain = 1.0);

  void upload();                ///< the image to the card
  std::string changed() const;  ///< the first byte that is not as in the image, in words

  /// Reads what the card has now, which `on_card_at` then points into.
  void take_card();
  std::byte const* on_card_at(plane rows, std::int32_t page, std::int32_t token,
                              std::int32_t head) const;

 private:
  struct block {
    std::byte* data = nullptr;  // on the card
    std::int64_t before = 0;    // bytes that the image does not have
    std::vector<std::byte> image{};
    std::vector<std::byte> taken{};  // what was on the card
  };
  struct rows_at {
    std::int32_t block = -1;  // -1: there are none
    std::int64_t offset = 0, token_stride = 0, head_stride = 0;
  };

  std::int64_t row_bytes(plane rows) const;
  std::int64_t offset_of(plane rows, std::int32_t page, std::int32_t token,
                         std::int32_t head) const;
  void lay_by_hand(dice& d);
  void lay_in_arena();
  template <allot::arrangement Arranged, class Family>
  void lay_in(Family const& family, allot::kv_page const& page);
  /// \param before  bytes of it that no page is in
  void add_block(std::byte* data, std::int64_t bytes, std::int64_t before = 0);

  kv_shape shape_;
  kv_placing placing_;
  std::int32_t first_page_ = 0;
  rows_at rows_[4];
  std::int64_t page_stride_ = 0, block_stride_ = 0;
  std::int32_t block_pages_ = 1;
  std::vector<block> blocks_;
  std::vector<rt::buffer> memory_;
  std::unique_ptr<rt::arena> arena_;
  allot::kv_cache cache_;
};

}  // namespace attention_test
