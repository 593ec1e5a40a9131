#include <zlib.h>

// `inflateInit2` is a macro, which Swift does not see.
static inline int inflate_init_gzip(z_stream *stream) { return inflateInit2(stream, 15 + 16); }
