/* SPDX-License-Identifier: Apache-2.0 */
/* The C function, from C. */
#include <allot/allot_json.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;
static int checks = 0;

#define CHECK(condition)                                              \
  do {                                                                \
    ++checks;                                                         \
    if (!(condition)) {                                               \
      printf("%s:%d: %s is false\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                     \
    }                                                                 \
  } while (0)

static char const request[] =
    "{\"id\":1,\"budget\":{\"bytes\":940},\"kv\":[{\"family\":\"raw\",\"page_bytes\":10,"
    "\"page_tokens\":64}],\"experts\":{\"slot_bytes\":100,\"per_layer\":2,\"layers\":25},"
    "\"demand\":{\"min_tokens\":256}}";
static char const answer[] =
    "{\"id\":1,\"ok\":true,\"slots\":8,\"prefill_buffer\":true,\"usable_pages\":13,"
    "\"physical_pages\":14,\"usable_tokens\":832,\"bytes\":{\"budget\":940,\"fixed\":0,"
    "\"experts\":800,\"kv\":140,\"left\":0},\"left_reason\":\"next_step\",\"pools\":[{\"name\":"
    "\"raw\",\"family\":\"raw\",\"unit\":\"pages\",\"usable\":13,\"physical\":14,\"bytes\":140}],"
    "\"notes\":[]}\n";
enum { request_size = sizeof request - 1, answer_size = sizeof answer - 1 };

static void test_one_line(void) {
  char out[2048];
  memset(out, 'z', sizeof out);
  CHECK(allot_solve_json(request, request_size, out, sizeof out) == answer_size);
  CHECK(strcmp(out, answer) == 0);
  CHECK(out[answer_size + 1] == 'z');
}

static void test_buffers_that_are_too_small(void) {
  /* Exactly enough for the answers, not for a terminator: they are written, and nothing behind. */
  char out[2048];
  size_t cap;
  memset(out, 'z', sizeof out);
  CHECK(allot_solve_json(request, request_size, out, answer_size) == answer_size);
  CHECK(memcmp(out, answer, answer_size) == 0);
  CHECK(out[answer_size] == 'z');
  for (cap = 0; cap < answer_size; ++cap) {
    memset(out, 'z', sizeof out);
    CHECK(allot_solve_json(request, request_size, out, cap) == answer_size);
    CHECK(out[0] == (cap > 0 ? '\0' : 'z'));
    CHECK(out[1] == 'z');
    CHECK(out[answer_size] == 'z');
  }
}

static void test_null_pointers(void) {
  char out[4] = "zzz";
  CHECK(allot_solve_json(request, request_size, NULL, 0) == answer_size);
  CHECK(allot_solve_json(NULL, 0, out, sizeof out) == 0);
  CHECK(out[0] == '\0');
  CHECK(allot_solve_json(NULL, 0, NULL, 0) == 0);
  CHECK(allot_solve_json(NULL, 3, out, sizeof out) == ALLOT_JSON_BAD_ARGUMENT);
  CHECK(allot_solve_json(request, request_size, NULL, 3) == ALLOT_JSON_BAD_ARGUMENT);
}

static void test_several_lines(void) {
  char in[4 * sizeof request];
  char out[8192];
  char const* second;
  ptrdiff_t size;
  /* Blank lines have no answer; a line that is not JSON has one; the last line has no newline. */
  int const in_size = snprintf(in, sizeof in, "\n%s\r\n\nnope\n%s", request, request);
  size = allot_solve_json(in, (size_t)in_size, out, sizeof out);
  CHECK(size > 2 * answer_size);
  CHECK((size_t)size == strlen(out));
  CHECK(strncmp(out, answer, answer_size) == 0);
  second = out + answer_size;
  CHECK(strncmp(second, "{\"id\":null,\"ok\":false,\"error\":\"bad_input\"", 41) == 0);
  CHECK(strcmp(out + size - answer_size, answer) == 0);
  /* Nothing is read behind `in_len`. */
  CHECK(allot_solve_json(in, 1, out, sizeof out) == 0);
  CHECK(allot_solve_json("{}{", 2, out, sizeof out) > 0);
  CHECK(strstr(out, "budget is missing") != NULL);
}

static void test_zero_bytes(void) {
  static char const with_zero[] = "{\"id\":1}\0\n{\"id\":2}";
  char out[2048];
  CHECK(allot_solve_json(with_zero, sizeof with_zero - 1, out, sizeof out) > 0);
  CHECK(strncmp(out, "{\"id\":null,", 11) == 0);
  CHECK(strstr(out, "at byte 8: a zero byte") != NULL);
  CHECK(strstr(out, "{\"id\":2,") != NULL);
}

static void* solve_often(void* result) {
  char out[2048];
  int i;
  int good = 0;
  for (i = 0; i < 2000; ++i) {
    good += allot_solve_json(request, request_size, out, sizeof out) == answer_size &&
            strcmp(out, answer) == 0;
  }
  *(int*)result = good;
  return NULL;
}

static void test_threads(void) {
  enum { threads = 8 };
  pthread_t thread[threads];
  int good[threads];
  int i;
  for (i = 0; i < threads; ++i) {
    CHECK(pthread_create(&thread[i], NULL, solve_often, &good[i]) == 0);
  }
  for (i = 0; i < threads; ++i) {
    CHECK(pthread_join(thread[i], NULL) == 0);
    CHECK(good[i] == 2000);
  }
}

/* The same requests one by one and all at once: the file given on the command line. */
static void test_file(char const* path) {
  FILE* const file = fopen(path, "rb");
  char* in;
  char* all;
  char* one;
  char* at;
  char* line;
  long in_size;
  ptrdiff_t size;
  int lines = 0;
  CHECK(file != NULL);
  if (file == NULL) { return; }
  fseek(file, 0, SEEK_END);
  in_size = ftell(file);
  rewind(file);
  in = malloc((size_t)in_size);
  CHECK(in != NULL && fread(in, 1, (size_t)in_size, file) == (size_t)in_size);
  fclose(file);
  size = allot_solve_json(in, (size_t)in_size, NULL, 0);
  CHECK(size > 0);
  all = malloc((size_t)size);
  one = malloc((size_t)size);
  CHECK(all != NULL && one != NULL);
  CHECK(allot_solve_json(in, (size_t)in_size, all, (size_t)size) == size);
  at = all;
  for (line = in; line < in + in_size; ++lines) {
    char* const end = memchr(line, '\n', (size_t)(in + in_size - line));
    size_t const line_size = end != NULL ? (size_t)(end - line) : (size_t)(in + in_size - line);
    ptrdiff_t const one_size = allot_solve_json(line, line_size, one, (size_t)size);
    CHECK(one_size > 0 && memcmp(one, at, (size_t)one_size) == 0);
    at += one_size;
    line += line_size + 1;
  }
  CHECK(at == all + size);
  CHECK(lines == 400);
  free(in);
  free(all);
  free(one);
}

int main(int argc, char** argv) {
  test_one_line();
  test_buffers_that_are_too_small();
  test_null_pointers();
  test_several_lines();
  test_zero_bytes();
  test_threads();
  if (argc > 1) { test_file(argv[1]); }
  printf("%d checks, %d failed\n", checks, failures);
  return failures == 0 && checks > 1600 ? 0 : 1;
}
