#include <libpq-fe.h>
#include <libpq-events.h>

#ifdef __GLIBC__
// glibc has it since 2.34, but Swift's view of spawn.h does not show it. `actions` is a posix_spawn_file_actions_t.
extern int posix_spawn_file_actions_addclosefrom_np(void *actions, int from);
#endif
