// SPDX-License-Identifier: Apache-2.0
#include "kv_pool.hpp"
#include "rows.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace attention_test {
namespace {

std::size_t index(plane rows) {
  return static_cast<std::size_t>(rows);
}

constexpr plane all_planes[] = {plane::k, plane::v, plane::k_scales, plane::v_scales};

}  // namespace

std::int64_t kv_pool::row_bytes(plane rows) const {
  std::int64_t const unit = allot::bits_of(shape_.dtype) / 8;
  switch (rows) {
    case plane::k: return shape_.head_dim * unit;
    case plane::v: return shape_.v_is_k ? 0 : shape_.v_head_dim * unit;
    case plane::k_scales: return shape_.row_scales ? 4 : 0;
    case plane::v_scales: return shape_.row_scales && !shape_.v_is_k ? 4 : 0;
  }
  return 0;
}

kv_pool::kv_pool(kv_shape const& shape, kv_placing const& placing, dice& d)
    : shape_{shape},
      placing_{placing},
      first_page_{placing.pages_before + (placing.sentinels_at_back ? 0 : placing.sentinel_pages)} {
  if (placing.how == laid::by_hand) {
    lay_by_hand(d);
  } else {
    lay_in_arena();
  }
  if (shape_.v_is_k) {
    rows_[index(plane::v)] = rows_[index(plane::k)];
    rows_[index(plane::v_scales)] = rows_[index(plane::k_scales)];
  }
  if (placing.how != laid::by_hand) { return; }

  auto const told = [&](plane p) {
    rows_at const& r = rows_[index(p)];
    if (r.block < 0) { return allot::kv_plane{}; }
    return allot::kv_plane{blocks_[static_cast<std::size_t>(r.block)].data + r.offset,
                           r.token_stride, r.head_stride};
  };
  cache_ = {.k = told(plane::k),
            .v = told(plane::v),
            .k_scales = told(plane::k_scales),
            .v_scales = told(plane::v_scales),
            .page_stride = page_stride_,
            .block_stride = block_stride_,
            .block_pages = block_pages_,
            .first_page = first_page(),
            .end_page = end_page(),
            .page_tokens = shape_.page_tokens,
            .heads = shape_.heads,
            .head_dim = shape_.head_dim,
            .v_head_dim = shape_.v_head_dim,
            .dtype = shape_.dtype};
  cache_.k_scale = shape_.k_scale;
  cache_.v_scale = shape_.v_scale;
}

void kv_pool::add_block(std::byte* data, std::int64_t bytes, std::int64_t before) {
  auto const held = static_cast<std::size_t>(bytes - before);
  blocks_.push_back({data, before, std::vector<std::byte>(held, placing_.poison), {}});
}

/// Planes of one block each, or K and V and their scales in one another's gaps.
void kv_pool::lay_by_hand(dice& d) {
  auto const gap = [&](std::int64_t unit) { return placing_.gaps ? d.roll(0, 3) * unit : 0; };
  bool const together = d.chance(50);
  std::int64_t page_bytes = 0;
  for (plane const p : all_planes) {
    std::int64_t const row = row_bytes(p);
    if (row == 0) { continue; }
    rows_at& r = rows_[index(p)];
    std::int64_t const unit = p == plane::k || p == plane::v ? 16 : 4;
    if (placing_.order == allot::kv_order::token_major) {
      r.head_stride = row + gap(unit);
      r.token_stride = shape_.heads * r.head_stride + gap(unit);
    } else {
      r.token_stride = row + gap(unit);
      r.head_stride = shape_.page_tokens * r.token_stride + gap(unit);
    }
    std::int64_t const bytes =
        (shape_.page_tokens - 1) * r.token_stride + (shape_.heads - 1) * r.head_stride + row;
    r.block = together ? 0 : static_cast<std::int32_t>(index(p));
    r.offset = together ? page_bytes : gap(16);
    page_bytes = together ? (page_bytes + bytes + 15) / 16 * 16
                          : std::max(page_bytes, (r.offset + bytes + 15) / 16 * 16);
  }
  block_pages_ = placing_.block_pages;
  page_stride_ = page_bytes + gap(16);
  block_stride_ = block_pages_ * page_stride_ + gap(16);

  auto const to_page = [&](std::int32_t page) {
    return page / block_pages_ * block_stride_ + page % block_pages_ * page_stride_;
  };
  rt::memory_resource& from = placing_.pages_before > 0 ? the_card().sparse : the_card().memory;
  for (int b = 0; b < (together ? 1 : 4); ++b) {
    bool const has = together || rows_[b].block >= 0;
    std::int64_t const bytes = has ? to_page(all_pages() - 1) + page_bytes : 0;
    memory_.emplace_back(from, bytes);
    add_block(memory_.back().data(), bytes, has ? to_page(placing_.pages_before) : 0);
  }
}

std::int64_t kv_pool::offset_of(plane rows, std::int32_t page, std::int32_t token,
                                std::int32_t head) const {
  rows_at const& r = rows_[index(rows)];
  std::int64_t const in_block = page % block_pages_;
  return r.offset + page / block_pages_ * block_stride_ + in_block * page_stride_ +
         token * r.token_stride + head * r.head_stride;
}

std::byte const* kv_pool::at(plane rows, std::int32_t page, std::int32_t token,
                             std::int32_t head) const {
  auto const block = static_cast<std::size_t>(rows_[index(rows)].block);
  return blocks_[block].image.data() + offset_of(rows, page, token, head) - blocks_[block].before;
}

std::byte const* kv_pool::on_card_at(plane rows, std::int32_t page, std::int32_t token,
                                     std::int32_t head) const {
  auto const block = static_cast<std::size_t>(rows_[index(rows)].block);
  return blocks_[block].taken.data() + offset_of(rows, page, token, head) - blocks_[block].before;
}

void kv_pool::take_card() {
  for (block& b : blocks_) {
    b.taken.resize(b.image.size());
    the_card().work.download(b.taken.data(), b.data + b.before,
                             static_cast<std::int64_t>(b.taken.size()));
  }
  the_card().work.wait();
}

std::byte* kv_pool::at(plane rows, std::int32_t page, std::int32_t token, std::int32_t head) {
  return const_cast<std::byte*>(std::as_const(*this).at(rows, page, token, head));
}

void kv_pool::write_token(dice& d, std::int32_t page, std::int32_t token, double gain) {
  auto const write = [&](plane p, std::int64_t dim, double by) {
    for (std::int32_t head = 0; head < shape_.heads; ++head) {
      store_row(at(p, page, token, head), shape_.dtype, draw_row(d, shape_.dtype, dim, by));
    }
  };
  auto const write_scales = [&](plane p) {
    for (std::int32_t head = 0; head < shape_.heads; ++head) {
      auto const scale = static_cast<float>(d.roll(3, 40)) / 16.0F;
      std::memcpy(at(p, page, token, head), &scale, sizeof scale);
    }
  };
  write(plane::k, shape_.head_dim, gain);
  if (!shape_.v_is_k) { write(plane::v, shape_.v_head_dim, 1.0); }
  if (!shape_.row_scales) { return; }
  write_scales(plane::k_scales);
  if (!shape_.v_is_k) { write_scales(plane::v_scales); }
}

void kv_pool::upload() {
  for (block const& b : blocks_) {
    the_card().work.upload(b.data + b.before, b.image.data(),
                           static_cast<std::int64_t>(b.image.size()));
  }
  the_card().work.wait();
}

std::string kv_pool::changed() const {
  for (block const& b : blocks_) {
    std::vector<std::byte> got(b.image.size());
    the_card().work.download(got.data(), b.data + b.before, static_cast<std::int64_t>(got.size()));
    the_card().work.wait();
    auto const other = std::mismatch(got.begin(), got.end(), b.image.begin()).first;
    if (other != got.end()) {
      return "byte " + std::to_string(other - got.begin()) + " of block " +
             std::to_string(&b - blocks_.data()) + " of the pool changed";
    }
  }
  return {};
}

}  // namespace attention_test
