/* SPDX-License-Identifier: Apache-2.0 */
/* The planner as one C function: JSON Lines in, JSON Lines out. Link with liballot-json. */
#ifndef ALLOT_JSON_H
#define ALLOT_JSON_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(ALLOT_JSON_BUILD) && defined(__GNUC__)
#define ALLOT_JSON_API __attribute__((visibility("default")))
#else
#define ALLOT_JSON_API
#endif

#define ALLOT_JSON_BAD_ARGUMENT (-1) /* a null pointer with a size that is not 0 */
#define ALLOT_JSON_NO_MEMORY (-2)

/* Answers requests of the solve contract: one JSON object a line in, one answer a line out, in
 * order, each ended by '\n'. Blank lines are skipped; the last line needs no newline.
 *
 *   in       the requests, `in_len` bytes; no terminator is needed, and none is looked for
 *   out      where the answers go, room for `out_cap` bytes; may be null when `out_cap` is 0
 *   returns  the bytes of all answers, not counting a terminator
 *            - at most out_cap: they are written; a '\0' follows where there is room for one
 *            - more than out_cap: nothing is written (but out[0] = '\0', if out_cap > 0). Call
 * again with that many bytes: the same requests have the same answers.
 *            - negative: one of the codes above; nothing is written
 *
 * What is wrong with a request is said in its answer ("ok": false), never by the return value.
 *
 * Threads may call at the same time: the function keeps nothing between calls and has no globals.
 * It never throws, and never reads or writes outside the two buffers, which must not overlap. */
ALLOT_JSON_API ptrdiff_t allot_solve_json(char const* in, size_t in_len, char* out, size_t out_cap);

#ifdef __cplusplus
}
#endif

#endif /* ALLOT_JSON_H */
