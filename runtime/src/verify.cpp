// SPDX-License-Identifier: Apache-2.0
#include <allot/runtime/arena.hpp>
#include <allot/runtime/counting_resource.hpp>
#include <allot/runtime/verify.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace allot::runtime {
namespace {

/// Bytes of an arena that belong to one extent: all there are, or what each block has of them.
struct span_of_extent {
  std::int64_t from = 0;
  std::int64_t to = 0;
  std::int64_t extent = 0;
};

void require_apart(arena const& a, std::vector<span_of_extent>& spans, std::int64_t limit) {
  std::ranges::sort(spans, {}, &span_of_extent::from);
  std::int64_t end = 0;
  std::int64_t before = -1;
  for (span_of_extent const& s : spans) {
    if (s.from < end || s.to > limit) {
      std::string const other =
          before < 0 || s.from >= end ? "the end of its memory" : a.name(before);
      throw carving_error(a.name(s.extent) + ", from offset " + std::to_string(s.from) +
                          " of the arena, runs into " + other);
    }
    end = s.to;
    before = s.extent;
  }
}

/// That no two extents share a byte, by their places: arrays and blocks apart, and what each block
/// has of every extent apart.
void check_apart(arena const& a) {
  std::vector<span_of_extent> whole;
  std::vector<span_of_extent> pages;
  std::vector<span_of_extent> slots;
  arena_map const& m = a.map();
  for (std::int64_t e = 0; e < a.extents(); ++e) {
    placement const& p = a.place(e);
    std::int64_t const size = (p.stands_alone() ? p.rows : p.block_rows) * p.row_bytes;
    if (p.rows == 0 || p.copies == 0 || p.row_bytes == 0) { continue; }
    if (p.copies > 1 && p.copy_stride < size) {
      throw carving_error("the copies of " + a.name(e) + " share bytes");
    }
    span_of_extent const span{p.offset, p.offset + (p.copies - 1) * p.copy_stride + size, e};
    (p.stands_alone() ? whole : p.offset < m.pages_end ? pages : slots).push_back(span);
  }
  auto const check_blocks = [&](std::vector<span_of_extent>& blocks, std::int64_t first) {
    if (blocks.empty()) { return; }
    placement const& p = a.place(blocks.front().extent);
    require_apart(a, blocks, first + p.block_stride);
    whole.push_back({first, first + p.rows / p.block_rows * p.block_stride, blocks.front().extent});
  };
  std::int64_t const resident = slots.empty() ? 0 : a.view(slots.front().extent).shape[1];
  check_blocks(pages, m.pages);
  check_blocks(slots, m.top - resident * m.slot_stride);
  require_apart(a, whole, a.allocated_bytes().count);
}

/// The first or the last byte of one copy of an extent.
struct corner {
  std::byte* at = nullptr;
  std::int64_t extent = 0;
  bool same_as_next = false;  ///< of one byte: the last one is written last
};

/// Calls `use(corner)` for both ends of every copy; of very many copies, of the first and the last.
template <class Use>
void each_corner(arena const& a, Use&& use) {
  constexpr std::int64_t most = 2048;
  for (std::int64_t e = 0; e < a.extents(); ++e) {
    extent_view<std::byte> const v = a.view(e);
    if (v.rows() == 0 || v.row_elements() == 0) { continue; }
    for (std::int64_t copy = 0; copy < v.copies(); ++copy) {
      if (copy == most && v.copies() > 2 * most) { copy = v.copies() - most; }
      std::byte* const first = v.row(copy, 0);
      std::byte* const last = v.row(copy, v.rows() - 1) + v.row_elements() - 1;
      use(corner{first, e, first == last});
      use(corner{last, e, false});
    }
  }
}

/// 251 values, so that neighbours differ and no power of two apart are equal.
std::byte mark(std::int64_t index) {
  return static_cast<std::byte>(1 + index % 251);
}

void touch(arena const& a, backend& work) {
  std::int64_t index = 0;
  each_corner(a, [&](corner const& c) { work.fill(c.at, mark(index++), 1); });
  work.wait();

  constexpr std::size_t lot = 4096;
  std::array<corner, lot> corners;
  std::array<std::byte, lot> found;
  std::size_t held = 0;
  std::int64_t seen = 0;
  auto const look = [&] {
    work.wait();
    for (std::size_t i = 0; i < held; ++i, ++seen) {
      if (found[i] == mark(corners[i].same_as_next ? seen + 1 : seen)) { continue; }
      throw carving_error("a byte of " + a.name(corners[i].extent) + ", at offset " +
                          std::to_string(corners[i].at - a.data()) +
                          " of the arena, does not keep what is written to it");
    }
    held = 0;
  };
  each_corner(a, [&](corner const& c) {
    corners[held] = c;
    work.download(&found[held], c.at, 1);
    if (++held == lot) { look(); }
  });
  look();
}

}  // namespace

verification verify(table_view const& t, plan const& p, memory_resource& from, backend& work) {
  require_reach("verify", work, from);
  counting_resource counter{from};
  verification out;
  {
    arena const a{t, p, counter};
    out.planned = arena::planned_bytes(t, p);
    out.carved = a.carved_bytes();
    check_apart(a);
    touch(a, work);
  }
  memory_counts const& counts = counter.counts();
  out.peak = {counts.peak_bytes};
  if (counts.outstanding_allocations != 0 || counts.misuses != 0) {
    throw carving_error("the arena was not given back as it was taken: " +
                        std::to_string(counts.outstanding_bytes) + " bytes are outstanding");
  }
  return out;
}

}  // namespace allot::runtime
