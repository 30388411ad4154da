/*
 * tree_text: the call tree as indented text, from the program down or from the costly functions up.
 *
 * A chain in which each step has one child worth showing keeps its indentation, each step marked with "›", so
 * that deep programs stay inside the line. Recursion is folded into its outermost call.
 */
#ifndef SONDE_SHOW_TREE_TEXT_H
#define SONDE_SHOW_TREE_TEXT_H

struct bytes;
struct err;
struct recording;
struct report_options;

/* options->view says which: REPORT_TREE or REPORT_BOTTOM_UP. */
int tree_text_put(const struct recording *recording, const struct report_options *options, struct bytes *out,
                  struct err *err);

#endif
