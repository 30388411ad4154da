/* A library for test_relocations.c, built several times: one that answers (ANSWER), and ones that ask it in every way
 * that leaves the loader a word to fill in, bound at once or at the first call. */
#include <dlfcn.h>

#define VISIBLE __attribute__((visibility("default")))

VISIBLE int relocated_answer(void);

#ifdef ANSWER
int relocated_answer(void)
{
    return ANSWER;
}
#endif

#ifdef NAME
#define JOIN(a, b)    a##b
#define NAMED(a, b)   JOIN(a, b)
#define OF_THIS(name) NAMED(NAME, name)

static int (*volatile stored)(void) = relocated_answer;

VISIBLE void *OF_THIS(_stored)(void);
void *OF_THIS(_stored)(void)
{
    return (void *)stored;
}

VISIBLE int OF_THIS(_call)(void);
int OF_THIS(_call)(void)
{
    return relocated_answer();
}

VISIBLE void *OF_THIS(_take)(void);
void *OF_THIS(_take)(void)
{
    return (void *)relocated_answer;
}

VISIBLE void *OF_THIS(_next)(void);
void *OF_THIS(_next)(void)
{
    void *found = dlsym(RTLD_NEXT, "relocated_answer");
    __asm__ volatile("" : "+r"(found)); /* the call returns to here, not to who called us */
    return found;
}

VISIBLE void *OF_THIS(_look_up)(void *library);
void *OF_THIS(_look_up)(void *library)
{
    return dlsym(library, "relocated_answer");
}
#endif
