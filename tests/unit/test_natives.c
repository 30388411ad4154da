/* Native frames in stacks: functions for addresses, inlined frames, what is hidden; and readable names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyse/labels.h"
#include "analyse/native_names.h"
#include "analyse/native_stacks.h"
#include "base/bytes.h"
#include "base/err.h"
#include "export/frames.h"
#include "store/chunk.h"
#include "store/natives.h"
#include "store/reader.h"
#include "store/recording.h"
#include "tests/store_sample.h"

static uint32_t text(struct recording *recording, const char *words)
{
    return strings_intern_text(&recording->strings, words);
}

static uint32_t add_python(struct recording *recording, const char *name)
{
    struct code code = {
        .name = text(recording, name), .file = text(recording, "/a/x.py"), .line = 3, .kind = CODE_PYTHON};
    return recording_add_code(recording, &code);
}

static uint32_t add_module(struct recording *recording, const char *path, uint8_t flags)
{
    return recording_add_module(recording, &(struct module){.path = text(recording, path), .flags = flags});
}

/* An address, named when `name` is not NULL; `inlined_in` is what add_outer gave, or 0. */
static uint32_t add_address(struct recording *recording, uint32_t module, uint64_t offset, const char *name,
                            uint32_t line, uint32_t inlined_in)
{
    uint32_t code = recording_add_code(recording, &(struct code){.kind = CODE_NATIVE});
    recording_add_address(recording, &(struct code_address){code, module, offset});
    struct symbol symbol = {.code = code, .line = line, .inlined_in = inlined_in};
    if (!name)
        return code;
    symbol.name = text(recording, name);
    symbol.file = line ? text(recording, "/src/k.c") : 0;
    recording_add_symbol(recording, &symbol);
    return code;
}

static uint32_t add_outer(struct recording *recording, const char *name, uint32_t line, uint32_t inlined_in)
{
    uint32_t code = recording_add_code(recording, &(struct code){.kind = CODE_NATIVE});
    struct symbol symbol = {.code = code,
                            .name = text(recording, name),
                            .file = text(recording, "/src/k.c"),
                            .line = line,
                            .inlined_in = inlined_in};
    recording_add_symbol(recording, &symbol);
    return code;
}

/* A sample of the stack, from the root; 0 ends it. */
static void add_sample(struct recording *recording, const uint32_t *codes)
{
    uint32_t node = 0;
    if (recording->threads_count < 2) {
        recording_add_process(recording, &(struct process){.pid = 1});
        recording_add_thread(recording, &(struct thread){.process = 1});
    }
    for (; *codes; codes++)
        node = recording_add_node(recording, &(struct node){.parent = node, .code = *codes});
    struct sample_row sample = {.thread = 1, .node = node, .count = 1, .time_ns = recording->samples_count};
    recording_add_sample(recording, &sample);
}

#define STACK(...) ((const uint32_t[]){__VA_ARGS__, 0})

static void put_path(const struct recording *recording, uint32_t node, struct bytes *out)
{
    const struct frame_style style = {0};
    if (!node)
        return;
    put_path(recording, recording->nodes[node].parent, out);
    bytes_put_text(out, out->size ? ";" : "");
    frames_put_text(recording, &style, recording->nodes[node].code, recording->nodes[node].line, out);
}

static void assert_stack(const struct recording *recording, uint32_t sample, const char *expected)
{
    struct bytes path = {0};
    put_path(recording, recording->samples[sample].node, &path);
    bytes_put_u8(&path, '\0');
    assert_string_equal((const char *)path.data, expected);
    bytes_clear(&path);
}

static uint32_t leaf_of(const struct recording *recording, uint32_t sample)
{
    return recording->samples[sample].node;
}

/* Followed while it is made: what comes later hangs from nodes of the file that came before. */
static void functions_of_a_recording_that_grows(void **state)
{
    (void)state;
    struct recording recording = {0};
    struct native_stacks *stacks = native_stacks_new(&recording, false);
    assert_non_null(stacks);
    assert_int_equal(native_stacks_extend(stacks, NULL), 0); /* nothing has come yet */
    uint32_t library = add_module(&recording, "/opt/libk.so.1", 0), script = add_python(&recording, "main");
    uint32_t first = add_address(&recording, library, 16, "cell", 7, 0);
    add_sample(&recording, STACK(script, first));
    uint32_t in_file = leaf_of(&recording, 0);
    assert_int_equal(native_stacks_extend(stacks, NULL), 0);
    assert_stack(&recording, 0, "main (x.py:3);cell (k.c:7)");
    uint32_t cell = recording.nodes[leaf_of(&recording, 0)].code;
    assert_int_not_equal(cell, first);
    recording.samples_count = 0;
    for (int turn = 0; turn < 200; turn++) {
        uint32_t outer = add_outer(&recording, "row", 30, 0);
        uint32_t next = add_address(&recording, library, 100 + (uint64_t)turn, "cell", 8, outer);
        struct node node = {.parent = in_file, .code = next};
        in_file = recording_add_node(&recording, &node);
        struct sample_row sample = {.thread = 1, .node = in_file, .count = 1};
        recording_add_sample(&recording, &sample);
        assert_int_equal(native_stacks_extend(stacks, NULL), 0);
        assert_int_equal(recording.nodes[leaf_of(&recording, 0)].code, cell);
        if (turn == 0)
            assert_stack(&recording, 0, "main (x.py:3);cell (k.c:7);row (k.c:30);cell (k.c:8)");
        recording.samples_count = 0;
    }
    native_stacks_free(stacks);
    recording_clear(&recording);
}

static void addresses_become_functions(void **state)
{
    (void)state;
    struct recording recording = {0};
    uint32_t library = add_module(&recording, "/opt/libk.so.1", 0), script = add_python(&recording, "main");
    uint32_t outer = add_outer(&recording, "sum", 40, 0), middle = add_outer(&recording, "row", 30, outer);
    uint32_t first = add_address(&recording, library, 16, "cell", 7, middle);
    uint32_t second = add_address(&recording, library, 20, "cell", 8, 0);
    uint32_t plain = add_address(&recording, library, 64, "plain", 0, 0);
    uint32_t nameless = add_address(&recording, library, 0x1200, NULL, 0, 0);
    add_sample(&recording, STACK(script, first));
    add_sample(&recording, STACK(script, second));
    add_sample(&recording, STACK(script, plain, nameless));
    assert_int_equal(native_stacks_name(&recording, false, NULL), 0);
    assert_stack(&recording, 0, "main (x.py:3);sum (k.c:40);row (k.c:30);cell (k.c:7)");
    assert_stack(&recording, 1, "main (x.py:3);cell (k.c:8)");
    assert_stack(&recording, 2, "main (x.py:3);plain (libk.so.1);libk.so.1+0x1200");
    /* one function, two lines */
    const struct node *nodes = recording.nodes;
    assert_int_equal(nodes[recording.samples[0].node].code, nodes[recording.samples[1].node].code);
    struct bytes module = {0};
    labels_module(&recording, nodes[recording.samples[0].node].code, &module);
    assert_int_equal(module.size, strlen("libk.so.1"));
    assert_memory_equal(module.data, "libk.so.1", module.size);
    bytes_clear(&module);
    recording_clear(&recording);
}

static void make_internals(struct recording *recording)
{
    uint32_t python = add_module(recording, "/usr/bin/python3.12", 0);
    uint32_t embedding = add_module(recording, "/opt/blender", MODULE_INTERPRETER);
    uint32_t libc = add_module(recording, "/lib/libc.so.6", 0), main = add_python(recording, "main");
    uint32_t start = add_address(recording, python, 1, "_start", 0, 0);
    uint32_t root = add_address(recording, libc, 2, "__libc_start_main_impl", 0, 0);
    uint32_t evaluate = add_address(recording, python, 3, "_PyEval_EvalFrameDefault", 0, 0);
    uint32_t sleep = add_address(recording, python, 4, "time_sleep", 0, 0);
    uint32_t call = add_address(recording, embedding, 5, NULL, 0, 0);
    uint32_t wait = add_address(recording, libc, 6, "clock_nanosleep", 0, 0);
    add_sample(recording, STACK(start, root, evaluate, main, call, sleep, wait));
    add_sample(recording, STACK(start, root));
    add_sample(recording, STACK(main, root)); /* not at the root: the program's own doing */
    uint32_t nameless = add_address(recording, libc, 7, NULL, 0, 0); /* a C library without debug data */
    add_sample(recording, STACK(start, root, nameless, evaluate, main, nameless));
}

static void internals_are_hidden_unless_asked_for(void **state)
{
    (void)state;
    struct recording hidden = {0}, shown = {0};
    make_internals(&hidden);
    make_internals(&shown);
    assert_int_equal(native_stacks_name(&hidden, false, NULL), 0);
    assert_stack(&hidden, 0, "main (x.py:3);time_sleep (python3.12);clock_nanosleep (libc.so.6)");
    assert_stack(&hidden, 1, "");
    assert_stack(&hidden, 2, "main (x.py:3);__libc_start_main_impl (libc.so.6)");
    assert_stack(&hidden, 3, "main (x.py:3);libc.so.6+0x7");
    assert_int_equal(native_stacks_name(&shown, true, NULL), 0);
    assert_stack(
        &shown, 0,
        "_start (python3.12);__libc_start_main_impl (libc.so.6);_PyEval_EvalFrameDefault "
        "(python3.12);main (x.py:3);blender+0x5;time_sleep (python3.12);clock_nanosleep (libc.so.6)");
    recording_clear(&hidden);
    recording_clear(&shown);
}

static void a_cython_wrapper_is_its_body(void **state)
{
    (void)state;
    struct recording recording = {0};
    uint32_t module = add_module(&recording, "/opt/mesh.so", 0), main = add_python(&recording, "main");
    uint32_t wrapper = add_address(&recording, module, 1, "__pyx_pw_4mesh_1refine", 90, 0);
    uint32_t body = add_address(&recording, module, 2, "__pyx_pf_4mesh_refine", 12, 0);
    uint32_t again = add_address(&recording, module, 3, "__pyx_pw_4mesh_1refine", 91, 0);
    add_sample(&recording, STACK(main, wrapper, body));
    add_sample(&recording, STACK(main, wrapper));
    add_sample(&recording, STACK(main, wrapper, body, again, body)); /* recursion stays */
    assert_int_equal(native_stacks_name(&recording, false, NULL), 0);
    assert_stack(&recording, 0, "main (x.py:3);mesh.refine (k.c:12)");
    assert_stack(&recording, 1, "main (x.py:3);mesh.refine (k.c:90)");
    assert_stack(&recording, 2, "main (x.py:3);mesh.refine (k.c:12);mesh.refine (k.c:12)");
    recording_clear(&recording);
}

/* A hostile file: a function that is inlined in itself. */
static void circles_end(void **state)
{
    (void)state;
    struct recording recording = {0};
    uint32_t module = add_module(&recording, "/opt/k.so", 0);
    uint32_t outer = add_outer(&recording, "turn", 1, 0);
    recording.symbols[recording.symbols_count - 1].inlined_in = outer;
    add_sample(&recording, STACK(add_address(&recording, module, 1, "cell", 1, outer)));
    assert_int_equal(native_stacks_name(&recording, false, NULL), 0);
    assert_int_equal(recording.nodes_count, 33);
    recording_clear(&recording);
}

static void recordings_without_native_frames_stay(void **state)
{
    (void)state;
    struct recording recording = {0};
    add_sample(&recording, STACK(add_python(&recording, "main"), add_python(&recording, "work")));
    const struct node *before = recording.nodes;
    assert_int_equal(native_stacks_name(&recording, false, NULL), 0);
    assert_ptr_equal(recording.nodes, before);
    recording_clear(&recording);
}

static void names_are_readable(void **state)
{
    (void)state;
    const struct {
        const char *symbol, *name;
    } names[] = {
        {"__pyx_pw_4mesh_1refine", "mesh.refine"},
        {"__pyx_pf_4mesh_refine", "mesh.refine"},
        {"__pyx_pw_3pkg_4mesh_4Grid_5cells", "pkg.mesh.Grid.cells"},
        {"__pyx_pf_4mesh_4Grid___init__", "mesh.Grid.__init__"},
        {"__pyx_pf_4mesh_2is_fine", "mesh.is_fine"}, /* 2 is a number here, not a length */
        {"__pyx_pf_3pkg_4mesh_refine", "pkg.mesh.refine"},
        {"__pyx_pf_5other_refine", "other.refine"},
        {"__pyx_pf_4mesh_refine(_object*, int)", "mesh.refine"},
        {"__pyx_f_4mesh_norm", "mesh.norm"},
        {"__pyx_f_4mesh_4Grid_area", "mesh.Grid.area"},
        {"__pyx_gb_4mesh_4generator", "mesh.generator"},
        {"__pyx_fuse_0__pyx_pw_4mesh_7scale", "mesh.scale"},
        {"__pyx_pw_4mesh_3foo_bar", "mesh.foo_bar"},
        {"__Pyx_PyObject_Call", "__Pyx_PyObject_Call"},
        {"__pyx_pymod_exec_mesh", "__pyx_pymod_exec_mesh"},
        {"__pyx_pw_", "__pyx_pw_"},
        {"__pyx_pf_99999999999999999999mesh_x", "__pyx_pf_99999999999999999999mesh_x"},
        {"__mesh_MOD_refine", "mesh::refine"},
        {"mesh_mp_refine_", "mesh::refine"},
        {"_MOD_", "_MOD_"},
        {"dgemm_", "dgemm_"},
        {"std::vector<int>::size() const", "std::vector<int>::size() const"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct bytes name = {0};
        native_names_put(names[i].symbol, "/opt/pkg/mesh.cpython-312-x86_64-linux-gnu.so", &name);
        bytes_put_u8(&name, '\0');
        assert_string_equal((const char *)name.data, names[i].name);
        bytes_clear(&name);
    }
}

static void interpreters_are_known_by_name(void **state)
{
    (void)state;
    const char *const theirs[] = {"/usr/bin/python3.12", "/opt/bin/python", "/usr/lib/libpython3.12.so.1.0",
                                  "/usr/bin/python3.13t", "python3.11d"};
    const char *const others[] = {"/usr/bin/python3-config", "/usr/lib/libpythonic.a", "/opt/pythonista",
                                  "/usr/lib/python3/x.so", ""};
    for (size_t i = 0; i < sizeof theirs / sizeof *theirs; i++) {
        assert_true(native_names_is_interpreter(theirs[i]));
        assert_false(native_names_is_interpreter(others[i]));
    }
}

static void roots_without_names_are_the_c_librarys(void **state)
{
    (void)state;
    assert_true(native_names_may_be_root("", "/lib/x86_64-linux-gnu/libc.so.6"));
    assert_true(native_names_may_be_root("libc.so.6+0x271d0", "/lib/x86_64-linux-gnu/libc.so.6"));
    assert_false(native_names_may_be_root("read", "/lib/x86_64-linux-gnu/libc.so.6"));
    assert_false(native_names_may_be_root("libcurl.so.4+0x271d0", "/usr/lib/libcurl.so.4"));
    assert_false(native_names_may_be_root("", ""));
}

/* ---- appended to ---- */

static void read_good(const struct bytes *file, struct recording *recording)
{
    assert_int_equal(reader_read(file->data, file->size, "sample", recording, NULL), 0);
    assert_true(sample_invariants_hold(recording));
}

/* Names the sample's second address, in a function that is there already and one that is not. */
static void append_name(struct bytes *file, const char *name)
{
    struct recording recording = {0};
    struct natives natives;
    read_good(file, &recording);
    struct writer_options options = {writer_sink_bytes, file, NULL};
    struct writer *writer = writer_continue(&options, &recording, file->size, NULL);
    assert_non_null(writer);
    assert_int_equal(natives_init(&natives, &recording, NULL), 0);
    struct symbol outer =
        *natives_symbol(&natives, natives_symbol(&natives, recording.nodes[3].code)->inlined_in);
    struct symbol symbol = {.code = recording.nodes[4].code, .name = sample_text(writer, name), .line = 9};
    symbol.inlined_in = writer_native_inlining(writer, &outer);
    assert_int_equal(symbol.inlined_in, outer.code);
    writer_native_symbol(writer, &symbol);
    assert_int_equal(writer_close(writer, NULL), 0);
    natives_clear(&natives);
    recording_clear(&recording);
}

static void names_are_appended(void **state)
{
    (void)state;
    struct bytes file = sample_file(NULL), before = sample_file(NULL);
    append_name(&file, "fold");
    assert_memory_equal(file.data, before.data, CHUNK_FILE_BYTES);
    append_name(&file, "bend");
    struct recording recording = {0};
    struct natives natives;
    read_good(&file, &recording);
    assert_int_equal(natives_init(&natives, &recording, NULL), 0);
    assert_int_equal(recording.codes_count, 6); /* nothing was defined anew */
    const struct symbol *symbol = natives_symbol(&natives, recording.nodes[4].code);
    assert_string_equal(recording_text(&recording, symbol->name), "bend"); /* the last word counts */
    assert_int_equal(symbol->line, 9);
    assert_int_equal(recording.samples_count, 5);
    assert_true(recording.damage.complete);
    assert_int_equal(recording.damage.damaged_chunks + recording.damage.skipped_bytes, 0);
    natives_clear(&natives);
    recording_clear(&recording);
    bytes_clear(&before);
    bytes_clear(&file);
}

/* A file that lost definitions counts differently from what was read: names would go to others. */
static void nothing_is_appended_where_ids_were_lost(void **state)
{
    (void)state;
    struct bytes file = sample_file(NULL);
    struct recording recording = {0};
    struct err err = {0};
    struct writer_options options = {writer_sink_bytes, &file, NULL};
    file.data[CHUNK_FILE_BYTES + CHUNK_HEADER_BYTES] ^= 1;
    read_good(&file, &recording);
    assert_null(writer_continue(&options, &recording, file.size, &err));
    assert_non_null(strstr(err.text, "damaged"));
    recording_clear(&recording);
    bytes_clear(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_become_functions),
        cmocka_unit_test(functions_of_a_recording_that_grows),
        cmocka_unit_test(internals_are_hidden_unless_asked_for),
        cmocka_unit_test(a_cython_wrapper_is_its_body),
        cmocka_unit_test(circles_end),
        cmocka_unit_test(recordings_without_native_frames_stay),
        cmocka_unit_test(names_are_readable),
        cmocka_unit_test(interpreters_are_known_by_name),
        cmocka_unit_test(roots_without_names_are_the_c_librarys),
        cmocka_unit_test(names_are_appended),
        cmocka_unit_test(nothing_is_appended_where_ids_were_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
