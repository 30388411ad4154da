/*
 * sonde/zones.h: zones, messages, counters and metadata of a C or C++ program in the recordings of sonde.
 *
 *     #include <sonde/zones.h>
 *
 *     void solve(void)
 *     {
 *         SONDE_ZONE("solve");             // from here to the end of the block, however it is left
 *         SONDE_COUNTER("residual", r);
 *         SONDE_MESSAGE("converged", "after 12 steps");
 *     }
 *
 * Header only: nothing is linked but, before glibc 2.34, -ldl. A program that sonde did not start pays one test of a pointer
 * that is null. Under `sonde record`, `trace`, `line` or `mem` zones lie on the time line of their thread, one inside another
 * with those of Python. Everything here may be called from any thread and from signal handlers, never waits and never fails:
 * what there is no room for is left out and counted. Define SONDE_NO_ZONES to compile all of it away.
 *
 * In C the name of a zone, counter or message is one that stays the same at that place; SONDE_ZONE_NAMED takes any string.
 * Fortran: sonde_zones.f90, beside this file.
 */
#ifndef SONDE_ZONES_H
#define SONDE_ZONES_H

#include <stddef.h>
#include <stdint.h>

#define SONDE_ZONES_VERSION 1u
#define SONDE_ZONES_SYMBOL  "sonde_zones"

#ifdef __cplusplus
extern "C" {
#endif

enum sonde_name_kind { SONDE_REGION = 1, SONDE_MARK = 2, SONDE_COUNTER_NAME = 3 };

/* What sonde's library in the process offers. Fields are only ever appended. */
struct sonde_zones {
    uint32_t version;   /* SONDE_ZONES_VERSION or later */
    uint32_t recording; /* 0 = nobody reads: call nothing */
    /* The id of a name, for the life of the process and of its forked children; 0 = no room: what is told under it is not
     * recorded. */
    uint32_t (*name)(uint32_t kind, const char *utf8, size_t bytes);
    void (*begin)(uint32_t region);
    void (*end)(uint32_t region); /* the innermost open one of that region in this thread */
    void (*mark)(uint32_t mark, const char *text, size_t bytes);
    void (*counter)(uint32_t counter, double value);
    void (*metadata)(const char *key, size_t key_bytes, const char *value, size_t value_bytes);
    /* The same for something that takes turns on the thread, such as a task of an event loop: what it begins is ended by the
     * same owner, whatever others begin and end in between. */
    void (*begin_for)(uint32_t region, uint64_t owner);
    void (*end_for)(uint32_t region, uint64_t owner);
};

#ifdef __cplusplus
}
#endif

#ifdef SONDE_NO_ZONES

#define SONDE_ZONE(name)
#define SONDE_ZONE_NAMED(name)
#define SONDE_ZONE_BEGIN(name)
#define SONDE_ZONE_END(name)
#define SONDE_COUNTER(name, value)
#define SONDE_MESSAGE(name, text)
#define SONDE_METADATA(key, value)

#else

#include <dlfcn.h>
#include <string.h>

#ifndef RTLD_DEFAULT /* without _GNU_SOURCE */
#define RTLD_DEFAULT ((void *)0)
#endif

/* NULL in a program that sonde did not start. */
static struct sonde_zones *sonde_zones_found;

__attribute__((constructor, unused)) static void sonde_zones_find(void)
{
    struct sonde_zones *zones = (struct sonde_zones *)dlsym(RTLD_DEFAULT, SONDE_ZONES_SYMBOL);
    if (zones && zones->version >= SONDE_ZONES_VERSION)
        sonde_zones_found = zones;
    /* Else, where nothing here is used, dlsym is jumped to, and takes the loader for who asked: that crashes glibc. */
    __asm__ volatile("" : : "r"(zones) : "memory");
}

/* NULL while nobody records. */
static inline struct sonde_zones *sonde_zones_now(void)
{
    struct sonde_zones *zones = sonde_zones_found;
    if (__builtin_expect(!zones, 1))
        return NULL;
    return __atomic_load_n(&zones->recording, __ATOMIC_RELAXED) ? zones : NULL;
}

/* The id of a place in the program whose name does not change. */
static inline uint32_t sonde_zones_id(struct sonde_zones *zones, uint32_t *id, uint32_t kind,
                                      const char *name)
{
    uint32_t known = __atomic_load_n(id, __ATOMIC_RELAXED);
    if (__builtin_expect(!known, 0)) {
        known = zones->name(kind, name, strlen(name));
        __atomic_store_n(id, known, __ATOMIC_RELAXED);
    }
    return known;
}

/* 0 = it is not recorded; else to be given to sonde_zone_end. */
static inline uint32_t sonde_zone_begin(uint32_t *id, const char *name)
{
    struct sonde_zones *zones = sonde_zones_now();
    if (__builtin_expect(!zones, 1))
        return 0;
    uint32_t region = sonde_zones_id(zones, id, SONDE_REGION, name);
    zones->begin(region);
    return region;
}

static inline void sonde_zone_end(uint32_t region)
{
    if (__builtin_expect(region != 0, 0))
        sonde_zones_found->end(region);
}

static inline void sonde_zone_close(const uint32_t *region)
{
    sonde_zone_end(*region);
}

static inline void sonde_counter(uint32_t *id, const char *name, double value)
{
    struct sonde_zones *zones = sonde_zones_now();
    if (__builtin_expect(zones != NULL, 0))
        zones->counter(sonde_zones_id(zones, id, SONDE_COUNTER_NAME, name), value);
}

/* The text may be NULL. */
static inline void sonde_message(uint32_t *id, const char *name, const char *text)
{
    struct sonde_zones *zones = sonde_zones_now();
    if (__builtin_expect(zones != NULL, 0))
        zones->mark(sonde_zones_id(zones, id, SONDE_MARK, name), text, text ? strlen(text) : 0);
}

static inline void sonde_metadata(const char *key, const char *value)
{
    struct sonde_zones *zones = sonde_zones_now();
    if (__builtin_expect(zones != NULL, 0))
        zones->metadata(key, strlen(key), value, strlen(value));
}

#define SONDE_ZONES_JOIN_(a, b) a##b
#define SONDE_ZONES_JOIN(a, b)  SONDE_ZONES_JOIN_(a, b)
#define SONDE_ZONES_OWN(name)   SONDE_ZONES_JOIN(name, __LINE__)

/* From BEGIN to END, which name the same and may lie anywhere in the same thread. */
#define SONDE_ZONE_BEGIN(name)                                                                               \
    do {                                                                                                     \
        static uint32_t sonde_id_;                                                                           \
        (void)sonde_zone_begin(&sonde_id_, name);                                                            \
    } while (0)
#define SONDE_ZONE_END(name)                                                                                 \
    do {                                                                                                     \
        static uint32_t sonde_id_;                                                                           \
        struct sonde_zones *sonde_now_ = sonde_zones_now();                                                  \
        if (__builtin_expect(sonde_now_ != NULL, 0))                                                         \
            sonde_now_->end(sonde_zones_id(sonde_now_, &sonde_id_, SONDE_REGION, name));                     \
    } while (0)

#define SONDE_COUNTER(name, value)                                                                           \
    do {                                                                                                     \
        static uint32_t sonde_id_;                                                                           \
        sonde_counter(&sonde_id_, name, (double)(value));                                                    \
    } while (0)
#define SONDE_MESSAGE(name, text)                                                                            \
    do {                                                                                                     \
        static uint32_t sonde_id_;                                                                           \
        sonde_message(&sonde_id_, name, text);                                                               \
    } while (0)
#define SONDE_METADATA(key, value) sonde_metadata(key, value)

#ifdef __cplusplus

namespace sonde
{
/* A zone from here to the end of the block. */
class zone
{
  public:
    zone(uint32_t *id, const char *name) : region(sonde_zone_begin(id, name))
    {
    }
    explicit zone(const char *name) : region(0)
    {
        uint32_t id = 0;
        region = sonde_zone_begin(&id, name);
    }
    ~zone()
    {
        sonde_zone_end(region);
    }

  private:
    zone(const zone &);
    zone &operator=(const zone &);
    uint32_t region;
};
} // namespace sonde

#define SONDE_ZONE(name)                                                                                     \
    static uint32_t SONDE_ZONES_OWN(sonde_id_);                                                              \
    ::sonde::zone SONDE_ZONES_OWN(sonde_zone_)(&SONDE_ZONES_OWN(sonde_id_), name)
#define SONDE_ZONE_NAMED(name) ::sonde::zone SONDE_ZONES_OWN(sonde_zone_)(name)

#else

#define SONDE_ZONE(name)                                                                                     \
    static uint32_t SONDE_ZONES_OWN(sonde_id_);                                                              \
    const uint32_t SONDE_ZONES_OWN(sonde_zone_) __attribute__((cleanup(sonde_zone_close), unused)) =         \
        sonde_zone_begin(&SONDE_ZONES_OWN(sonde_id_), name)
#define SONDE_ZONE_NAMED(name)                                                                               \
    uint32_t SONDE_ZONES_OWN(sonde_id_) = 0;                                                                 \
    const uint32_t SONDE_ZONES_OWN(sonde_zone_) __attribute__((cleanup(sonde_zone_close), unused)) =         \
        sonde_zone_begin(&SONDE_ZONES_OWN(sonde_id_), name)

#endif
#endif
#endif
