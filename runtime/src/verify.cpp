// SPDX-License-Identifier: Apache-2.0
#include <allot/runtime/arena.hpp>
#include <allot/runtime/counting_resource.hpp>
#include <allot/runtime/verify.hpp>

#include <vector>

namespace allot::runtime {
namespace {

/// A byte that is written and must still be there.
struct corner {
  std::int64_t extent = 0;
  std::byte* at = nullptr;
};

std::vector<corner> corners_of(arena const& a) {
  std::vector<corner> out;
  for (std::int64_t i = 0; i < a.extents(); ++i) {
    extent_view<std::byte> const v = a.view(i);
    if (v.rows() == 0 || v.row_elements() == 0) { continue; }
    for (std::int64_t copy = 0; copy < v.copies(); ++copy) {
      out.push_back({i, v.row(copy, 0)});
      out.push_back({i, v.row(copy, v.rows() - 1) + v.row_elements() - 1});
    }
  }
  return out;
}

/// 251 values, so that neighbours differ and no power of two apart are equal.
std::byte mark(std::size_t index) {
  return static_cast<std::byte>(1 + index % 251);
}

void touch(arena const& a, backend& work) {
  std::vector<corner> const corners = corners_of(a);
  for (std::size_t i = 0; i < corners.size(); ++i) {
    work.fill(corners[i].at, mark(i), 1);
  }
  std::vector<std::byte> found(corners.size());
  for (std::size_t i = 0; i < corners.size(); ++i) {
    work.download(&found[i], corners[i].at, 1);
  }
  work.wait();
  for (std::size_t i = 0; i < corners.size(); ++i) {
    // An array of one byte is its own first and last.
    bool const again = i + 1 < corners.size() && corners[i + 1].at == corners[i].at;
    if (found[i] == mark(again ? i + 1 : i)) { continue; }
    throw carving_error("a byte of " + a.name(corners[i].extent) + ", at offset " +
                        std::to_string(corners[i].at - a.data()) +
                        " of the arena, does not keep what is written to it");
  }
}

}  // namespace

verification verify(table_view const& t, plan const& p, memory_resource& from, backend& work) {
  counting_resource counter{from};
  verification out;
  {
    arena const a{t, p, counter};
    out.planned = arena::planned_bytes(t, p);
    out.carved = a.carved_bytes();
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
