/* What a plug-in for one MPI gives: C, because it is built by that MPI's own compiler command and loaded at run time.
 */
#ifndef VERNIER_RANKS_MPI_PLUGIN_H
#define VERNIER_RANKS_MPI_PLUGIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every function returns 0, or MPI's error code. Waiting sleeps in between: a rank that waits leaves its core to
 * others. */
struct vernier_mpi {
  int version; /* of this struct */
  int (*start)(int* rank, int* size);
  /* all[r] = mine of rank r. Collective. */
  int (*gather_sizes)(uint64_t mine, uint64_t* all);
  /* bytes [size] that rank `root` has, to all. Collective. */
  int (*broadcast)(void* bytes, uint64_t size, int root);
  /* Collective: returns when all ranks came here. MPI ends. */
  int (*finish)(void);
};

enum { VERNIER_MPI_VERSION = 3 };

const struct vernier_mpi* vernier_mpi_plugin(void);

#ifdef __cplusplus
}
#endif
#endif
