#include "export/page_writer.h"

#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "export/stream.h"

#ifdef SONDE_PAGE
#include "export/page_text.h"
#else
static const char page_text_html[] = "";
#endif

/* Where the recordings go, and what makes the page ask a server. */
static const char place[] = "<!--recordings-->";
static const char root[] = "<html";
#define PIECE 49152u /* bytes of a recording that are turned to text at a time; a multiple of 3 */

static int check(struct err *err)
{
    if (page_text_html[0])
        return 0;
    return err_set(
        err, "this sonde was built without its page; build it with node and clang there (tools/setup gets "
             "them), or use a wheel");
}

static void put_base64(struct bytes *out, const uint8_t *data, size_t size)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t group = (uint32_t)data[i] << 16 | (left > 1 ? (uint32_t)data[i + 1] << 8 : 0) |
                         (left > 2 ? data[i + 2] : 0u);
        const char text[4] = {digits[group >> 18], digits[group >> 12 & 63],
                              left > 1 ? digits[group >> 6 & 63] : '=', left > 2 ? digits[group & 63] : '='};
        bytes_put(out, text, sizeof text);
    }
}

static void put_attribute(struct bytes *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("<>&\"'", *text) || (unsigned char)*text < 0x20)
            bytes_putf(out, "&#%d;", *text);
        else
            bytes_put(out, text, 1);
    }
}

static void put_file(const struct page_writer_file *file, struct stream *stream)
{
    const uint8_t *data = file->data;
    bytes_put_text(&stream->out, "<script type=\"text/plain\" class=\"recording\" data-name=\"");
    put_attribute(&stream->out, file->name);
    bytes_put_text(&stream->out, "\">");
    for (size_t at = 0; at < file->size; at += PIECE) {
        put_base64(&stream->out, data + at, file->size - at < PIECE ? file->size - at : PIECE);
        stream_drain(stream);
    }
    bytes_put_text(&stream->out, "</script>\n");
}

int page_writer_write(const struct page_writer_file *files, size_t count, struct stream *stream,
                      struct err *err)
{
    if (check(err) < 0)
        return -1;
    const char *middle = strstr(page_text_html, place);
    if (!middle)
        return err_set(err, "the page has no place for recordings");
    bytes_put(&stream->out, page_text_html, (size_t)(middle - page_text_html));
    for (size_t i = 0; i < count; i++)
        put_file(&files[i], stream);
    bytes_put_text(&stream->out, middle + strlen(place));
    return 0;
}

int page_writer_write_served(struct stream *stream, struct err *err)
{
    if (check(err) < 0)
        return -1;
    const char *tag = strstr(page_text_html, root);
    if (!tag)
        return err_set(err, "the page has no root");
    tag += strlen(root);
    bytes_put(&stream->out, page_text_html, (size_t)(tag - page_text_html));
    bytes_put_text(&stream->out, " data-served");
    bytes_put_text(&stream->out, tag);
    return 0;
}
