/*
 * memory_marks: the name `profile` among the built-in ones while `sonde mem --rss` looks at the program: decorated functions, and
 * blocks with profile.timestamp(name), become regions that say what is resident when they begin and end.
 *
 * What it does is in python/sonde/memory_marks.py, which is imported when the name is first used: a program that does not use it
 * has no more in its memory than the name.
 */
#ifndef SONDE_COLLECT_INSIDE_MEMORY_MARKS_H
#define SONDE_COLLECT_INSIDE_MEMORY_MARKS_H

/* Never leaves an exception. */
void memory_marks_install(void);

#endif
