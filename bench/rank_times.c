/* Loaded in front of Open MPI in each rank by several_ranks.py: writes the CPU seconds that the process has used, and the
   time, whenever ranks come together and when the process ends, to RANK_TIMES.RANK. Ranks talk only by exchanges, each of
   which begins with one MPI_Iallgather, and sleep while they wait (src/distributed/mpi_plugin.c): so this is their work. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static FILE* file;

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void row(const char* what) {
  if (file != NULL) fprintf(file, "%s %.6f %.6f\n", what, seconds(CLOCK_PROCESS_CPUTIME_ID), seconds(CLOCK_MONOTONIC));
}

__attribute__((constructor)) static void begin(void) {
  const char* base = getenv("RANK_TIMES");
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  char name[4096];
  if (base == NULL || rank == NULL) return;
  snprintf(name, sizeof name, "%s.%s", base, rank);
  file = fopen(name, "w");
  unsetenv("LD_PRELOAD"); /* what this process starts is not a rank */
}

__attribute__((destructor)) static void end(void) {
  row("end");
  if (file != NULL) fclose(file);
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int code = PMPI_Init_thread(argc, argv, required, provided);
  row("start");
  return code;
}

int MPI_Iallgather(const void* mine, int count, MPI_Datatype type, void* all, int all_count, MPI_Datatype all_type,
                   MPI_Comm ranks, MPI_Request* request) {
  row("exchange");
  return PMPI_Iallgather(mine, count, type, all, all_count, all_type, ranks, request);
}
