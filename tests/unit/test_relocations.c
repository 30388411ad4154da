/*
 * relocations: real libraries whose words are bound at once, at the first call and in data, loaded before and after,
 * with and without a function of their own. Built twice: an executable at a fixed place has an entry of its own that
 * stands for the function's address.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "collect/agent/relocations.h"

int relocated_answer(void);
int lazy_call(void);
int now_call(void);
void *lazy_take(void);
void *now_take(void);
void *now_next(void);
void *now_look_up(void *library);
void *lazy_stored(void);
void *now_stored(void);

enum { ANSWERED = 42, ADDED = 1000 };

static int (*volatile own_stored)(void) =
    relocated_answer; /* what gives an executable at a fixed place its entry */
static int (*original)(void);
static atomic_int calls;

static int replacement(void)
{
    calls++;
    return original() + ADDED;
}

static const struct redirection row = {"relocated_answer", (void *)replacement, (void **)&original};

static void redirect(void)
{
    relocations_redirect(&row, 1, NULL, 0);
}

static int answer_of(void *function)
{
    return ((int (*)(void))function)();
}

static void assert_all_answer(int expected)
{
    assert_int_equal(relocated_answer(), expected);
    assert_int_equal(lazy_call(), expected);
    assert_int_equal(now_call(), expected);
    assert_int_equal(answer_of(lazy_take()), expected);
    assert_int_equal(answer_of(now_take()), expected);
    assert_int_equal(answer_of(lazy_stored()), expected);
    assert_int_equal(answer_of(now_stored()), expected);
    assert_int_equal(own_stored(), expected);
}

static void every_word_is_exchanged_and_put_back(void **state)
{
    (void)state;
    void *taken = now_take(), *stored = now_stored();
    redirect(); /* lazy_call has not been called: its word is not bound */
    assert_int_equal(relocations_counts().closed, 0);
    assert_int_equal(relocations_counts().foreign, 0);
    assert_true(relocations_counts().objects >= 3);
    assert_all_answer(ANSWERED + ADDED);
    relocations_restore();
    assert_all_answer(ANSWERED);
    assert_ptr_equal(now_take(), taken);
    assert_ptr_equal(now_stored(), stored);
    redirect(); /* now it is */
    assert_all_answer(ANSWERED + ADDED);
    redirect(); /* once more changes nothing */
    assert_int_equal(relocations_counts().words, 0);
    assert_true(relocations_counts().ours >= 6);
    assert_all_answer(ANSWERED + ADDED);
    relocations_restore();
    assert_all_answer(ANSWERED);
}

/* The first address of the pages that the loader has closed in the library that is bound at once. */
static int find_closed(struct dl_phdr_info *info, size_t size, void *address)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum && strstr(info->dlpi_name, "relocated_now"); i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO)
            *(uintptr_t *)address = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    return 0;
}

static void pages_are_closed_again(void **state)
{
    (void)state;
    uintptr_t address = 0;
    dl_iterate_phdr(find_closed, &address);
    assert_true(address > 0);
    redirect();
    assert_int_equal(now_call(), ANSWERED + ADDED);
    for (int look = 0; look < 2; look++, relocations_restore()) {
        char line[512], rights[8] = "";
        uintptr_t start, end;
        FILE *maps = fopen("/proc/self/maps", "re");
        while (fgets(line, sizeof line, maps))
            if (sscanf(line, "%lx-%lx %7s", &start, &end, rights) == 3 && start <= address && address < end)
                break;
        fclose(maps);
        assert_string_equal(rights, "r--p");
    }
}

static void *open_library(const char *path, int mode)
{
    void *library = dlopen(path, mode);
    if (!library)
        print_error("%s\n", dlerror());
    assert_non_null(library);
    return library;
}

/* dlsym is called by a library whose words were exchanged, as Python calls it. */
static void later_libraries_are_seen_to(void **state)
{
    (void)state;
    redirect();
    void *library = open_library(RELOCATED_LATER, RTLD_LAZY | RTLD_LOCAL);
    now_next(); /* asks dlsym for something */
    int (*later_call)(void) = (int (*)(void))dlsym(library, "later_call");
    assert_int_equal(later_call(), ANSWERED + ADDED);
    relocations_restore();
    assert_int_equal(later_call(), ANSWERED);
    redirect();
    dlclose(library);
    relocations_restore();
    assert_all_answer(ANSWERED);
}

static void others_of_the_same_name_are_left_alone(void **state)
{
    (void)state;
    void *library = open_library(RELOCATED_OTHER, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    int (*other_call)(void) = (int (*)(void))dlsym(library, "other_call");
    assert_int_equal(other_call(), 7);
    redirect();
    assert_int_equal(relocations_counts().foreign, 1);
    assert_int_equal(other_call(), 7);
    assert_all_answer(ANSWERED + ADDED);
    relocations_restore();
    assert_int_equal(other_call(), 7);
    dlclose(library);
}

static void whoever_asks_for_the_next_gets_it(void **state)
{
    (void)state;
    void *next = now_next();
    assert_non_null(next);
    redirect();
    assert_ptr_equal(now_next(), next);
    relocations_restore();
}

/* As ctypes does. */
static void functions_looked_up_are_redirected(void **state)
{
    (void)state;
    void *library = open_library(RELOCATED_LATER, RTLD_LAZY | RTLD_LOCAL);
    void *function = now_look_up(library);
    redirect();
    assert_int_equal(answer_of(now_look_up(library)), ANSWERED + ADDED);
    relocations_restore();
    assert_ptr_equal(now_look_up(library), function);
    dlclose(library);
}

static atomic_bool over;
static atomic_int wrong;

static void *ask_on_and_on(void *unused)
{
    while (!over) {
        int answer = lazy_call();
        wrong += answer != ANSWERED && answer != ANSWERED + ADDED;
        answer = now_call();
        wrong += answer != ANSWERED && answer != ANSWERED + ADDED;
    }
    return unused;
}

static void threads_may_run_meanwhile(void **state)
{
    (void)state;
    pthread_t thread;
    pthread_create(&thread, NULL, ask_on_and_on, NULL);
    for (int round = 0; round < 300; round++) {
        redirect();
        relocations_renew();
        relocations_restore();
    }
    over = true;
    pthread_join(thread, NULL);
    assert_int_equal(wrong, 0);
    calls = 0;
    assert_all_answer(ANSWERED);
    assert_int_equal(calls, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_word_is_exchanged_and_put_back),
        cmocka_unit_test(pages_are_closed_again),
        cmocka_unit_test(later_libraries_are_seen_to),
        cmocka_unit_test(others_of_the_same_name_are_left_alone),
        cmocka_unit_test(whoever_asks_for_the_next_gets_it),
        cmocka_unit_test(functions_looked_up_are_redirected),
        cmocka_unit_test(threads_may_run_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
