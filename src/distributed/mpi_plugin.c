#define _POSIX_C_SOURCE 199309L
#include "mpi_plugin.h"

#include <mpi.h>
#include <time.h>

/* MPI's own waiting turns a core, which a rank that still computes may need. Polls often at first: most messages are
   short and on their way. */
static int wait_for(MPI_Request* request) {
  for (int polls = 0;; ++polls) {
    int done = 0;
    const int code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS || done) return code;
    if (polls > 50) {
      const struct timespec pause = {0, polls > 1000 ? 1000000 : 50000};
      nanosleep(&pause, NULL);
    }
  }
}

static int start(int* rank, int* size) {
  int given = 0;
  int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &given);
  if (code != MPI_SUCCESS) return code;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  code = MPI_Comm_rank(MPI_COMM_WORLD, rank);
  return code != MPI_SUCCESS ? code : MPI_Comm_size(MPI_COMM_WORLD, size);
}

static int gather_sizes(uint64_t mine, uint64_t* all) {
  MPI_Request request;
  const int code = MPI_Iallgather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, MPI_COMM_WORLD, &request);
  return code != MPI_SUCCESS ? code : wait_for(&request);
}

static int broadcast(void* bytes, uint64_t size, int root) {
  const uint64_t most = UINT64_C(1) << 30; /* counts are of type int */
  char* at = bytes;
  while (size > 0) {
    const uint64_t part = size < most ? size : most;
    MPI_Request request;
    int code = MPI_Ibcast(at, (int)part, MPI_BYTE, root, MPI_COMM_WORLD, &request);
    if (code == MPI_SUCCESS) code = wait_for(&request);
    if (code != MPI_SUCCESS) return code;
    at += part;
    size -= part;
  }
  return MPI_SUCCESS;
}

static int finish(void) {
  MPI_Request request;
  int code = MPI_Ibarrier(MPI_COMM_WORLD, &request);
  if (code == MPI_SUCCESS) code = wait_for(&request);
  return code != MPI_SUCCESS ? code : MPI_Finalize();
}

const struct vernier_mpi* vernier_mpi_plugin(void) {
  static const struct vernier_mpi plugin = {VERNIER_MPI_VERSION, start, gather_sizes, broadcast, finish};
  return &plugin;
}
