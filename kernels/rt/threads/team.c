/* SPDX-License-Identifier: MIT
 *
 * Threads.  The library has a pool of worker threads.  A step takes a team from it: the step's code runs on
 * the calling thread, which leads the team, and the workers wait for kernels.  The leader writes the job into
 * the team and advances each worker's counter `work`, which takes some 100 ns; a worker claims its part, runs
 * it and advances its counter `done`.  A kernel of four parts, of which worker 3 is late:
 *
 *     leader     work++ for 1, 2, 3 | part 0 | claims and runs part 3 | awaits done of 1 and 2 | returns
 *     worker 1                      | claims, runs part 1      | done++
 *     worker 2                      | claims, runs part 2               | done++
 *     worker 3                                                   | wakes, claim fails, awaits the next work
 *
 * The leader itself runs every part that no worker has claimed by the time it has finished its own.  So the
 * parts of a kernel do not depend on who runs them, and a worker that sleeps, has no core or could not be
 * started delays nothing: only parts that are running are waited for.  Only threads that have claimed a part
 * read the job; the leader rewrites it when all of these are done.
 *
 * A worker waits for the next kernel and for the next step alike (counter.h).
 */
#define _POSIX_C_SOURCE 200809L
#ifdef __linux__
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "gradcut/gradcut_rt.h"
#include "kernels/rt/threads/cores.h"
#include "kernels/rt/threads/counter.h"
#include "kernels/rt/threads/team.h"

typedef void kernel_fn(void *arg, int t, int nt);

enum { TEAM_MAX = 256, POOL_MAX = 1024 };

typedef struct worker worker;

typedef struct team {
    kernel_fn *kernel; /* the job */
    void *arg;
    int nt;
    int64_t *ns; /* of gcut_rt_team_times, of threads below `timed`; NULL */
    int timed;
    int size;                 /* with the leader */
    worker *worker[TEAM_MAX]; /* of threads 1, 2, … */
} team;

/* All but `work`, `done` and `claimed` is written by the leader of the team that has the worker, or under the
 * pool's lock while it is idle. */
struct worker {
    counter work, done;
    _Atomic uint32_t claimed; /* value of `work` that was claimed last */
    int alive;                /* its thread runs */
    int quit;                 /* the next `work` is to end it */
    int t;                    /* number in the team */
    team *team;
    worker *next; /* in the list of idle ones */
    pthread_t thread;
};

/* A worker is in the list of idle ones, the last used first, or in one team, or not used yet.  Static, so
 * that a step allocates nothing; the memory of workers that are not used is never touched. */
static struct {
    pthread_mutex_t lock;
    worker *idle;
    int used;    /* of all[] */
    int running; /* leaders and workers in teams */
    worker all[POOL_MAX];
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local team *leading; /* by this thread */
static _Thread_local int busy;      /* in a part of a kernel: what that calls runs on this thread alone */
static _Thread_local struct {
    int64_t *ns;
    int threads;
} times; /* of what this thread launches */

void gcut_rt_team_times(int64_t *ns, int threads)
{
    times.ns = ns;
    times.threads = threads;
}

/* ---- parts ---- */

/* On the leader. */
static void run_part(kernel_fn *kernel, void *arg, int t, int nt)
{
    busy = 1;
    kernel(arg, t, nt);
    busy = 0;
}

/* True for one caller for each value of `work`.  Each is claimed before the next one is set, so a late caller
 * with an old value fails. */
static int claim(worker *w, uint32_t work)
{
    uint32_t last = work - 2;
    return atomic_compare_exchange_strong(&w->claimed, &last, work);
}

/* Stands for a value of `done`, which are even: the leader has run the part. */
enum { RUN_HERE = 1 };

/* On the leader.  It runs all parts that are left to it before it waits for any. */
static void hand_out(team *m, kernel_fn *kernel, void *arg, int nt)
{
    uint32_t done[TEAM_MAX];
    m->kernel = kernel;
    m->arg = arg;
    m->nt = nt;
    m->ns = times.ns;
    m->timed = times.threads;
    for (int t = 1; t < nt; t++) {
        done[t] = counter_value(&m->worker[t]->done);
        counter_advance(&m->worker[t]->work);
    }
    run_part(kernel, arg, 0, nt);
    for (int t = 1; t < nt; t++) {
        if (!claim(m->worker[t], counter_value(&m->worker[t]->work))) continue;
        run_part(kernel, arg, t, nt);
        done[t] = RUN_HERE;
    }
    const int64_t begin = m->ns ? counter_now() : 0;
    for (int t = 1; t < nt; t++)
        if (done[t] != RUN_HERE) counter_await(&m->worker[t]->done, done[t]);
    if (m->ns) m->ns[0] -= counter_now() - begin;
}

/* On a worker.  The leader reads the time once `done` has advanced. */
static void run_timed(const worker *w)
{
    const team *m = w->team;
    const int64_t begin = m->ns ? counter_now() : 0;
    m->kernel(m->arg, w->t, m->nt);
    if (m->ns && w->t < m->timed) m->ns[w->t] += counter_now() - begin;
}

/* A worker's thread.  All that it runs are parts.  Its first `done` says that it has begun: from then on it
 * allocates nothing, which thread-local storage of a loaded object does when first used. */
static void *serve(void *arg)
{
    worker *w = arg;
    busy = 1;
    counter_advance(&w->done);
    for (uint32_t work = 0;;) {
        work = counter_await(&w->work, work);
        if (!claim(w, work)) continue;
        if (w->quit) return NULL;
        run_timed(w);
        counter_advance(&w->done);
    }
}

/* ---- the pool ---- */

/* The process's signals are for threads that the process knows of.  Those that a thread gets for what it does
 * itself stay: blocked, they would end the process past its handlers; and a profiler counts every thread. */
static void choose_blocked(sigset_t *set)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGPROF};
    sigfillset(set);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigdelset(set, own[i]);
}

static int start(worker *w)
{
    sigset_t blocked, old;
    atomic_init(&w->work.value, 0);
    atomic_init(&w->done.value, 0);
    atomic_init(&w->claimed, 0);
    w->work.spin_ns = w->done.spin_ns = 0;
    w->quit = 0;
    choose_blocked(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, &old);
    int failed = pthread_create(&w->thread, NULL, serve, w);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return !failed;
}

/* With the lock held. */
static worker *take(void)
{
    worker *w = pool.idle;
    if (w)
        pool.idle = w->next;
    else if (pool.used < POOL_MAX)
        w = &pool.all[pool.used++];
    return w;
}

/* The workers from t = `first` on become idle, those without a thread after the others. */
static void give_back(team *m, int first)
{
    for (int t = m->size - 1; t >= first; t--) {
        m->worker[t]->next = pool.idle;
        pool.idle = m->worker[t];
    }
    pool.running -= m->size - first;
    m->size = first;
}

/* Gathers fewer than `threads` threads where the pool is at its end or the system starts no more, and where
 * teams that run at the same time would have more threads than there are cores. */
static void gather(team *m, int threads)
{
    pthread_mutex_lock(&pool.lock);
    if (pool.running) {
        int cores = gcut_rt_cores(), most = (cores > threads ? cores : threads) - pool.running;
        if (threads > most) threads = most;
    }
    if (threads > TEAM_MAX) threads = TEAM_MAX;
    for (m->size = 1; m->size < threads; m->size++)
        if (!(m->worker[m->size] = take())) break;
    pool.running += m->size;
    pthread_mutex_unlock(&pool.lock);
    for (int t = 1; t < m->size; t++) {
        m->worker[t]->team = m;
        m->worker[t]->t = t;
        if (m->worker[t]->alive || start(m->worker[t])) continue;
        pthread_mutex_lock(&pool.lock);
        give_back(m, t);
        pthread_mutex_unlock(&pool.lock);
    }
    for (int t = 1; t < m->size; t++)
        if (!m->worker[t]->alive) {
            counter_await(&m->worker[t]->done, 0);
            m->worker[t]->alive = 1;
        }
}

static void dismiss(team *m)
{
    pthread_mutex_lock(&pool.lock);
    give_back(m, 1);
    pool.running--;
    pthread_mutex_unlock(&pool.lock);
}

void gcut_rt_team(void (*body)(void *arg), void *arg, int threads)
{
    if (threads <= 1 || leading || busy) {
        body(arg);
        return;
    }
    team m;
    gather(&m, threads);
    leading = &m;
    body(arg);
    leading = NULL;
    dismiss(&m);
}

/* ---- kernels ---- */

int gcut_rt_worth(int threads, int64_t n, int64_t ps)
{
    if (threads <= 1 || n <= 0) return 1;
    if (n > INT64_MAX / (ps > 0 ? ps : 1)) return threads;
    int64_t most = n * ps / GCUT_RT_GRAIN_PS;
    return most < 1 ? 1 : most < threads ? (int)most : threads;
}

typedef struct launch {
    kernel_fn *kernel;
    void *arg;
    int threads;
} launch;

static void hand_out_one(void *arg)
{
    launch *l = arg;
    hand_out(leading, l->kernel, l->arg, l->threads < leading->size ? l->threads : leading->size);
}

void gcut_rt_parallel(void (*kernel)(void *arg, int t, int nt), void *arg, int threads)
{
    launch l = {kernel, arg, threads};
    if (threads <= 1 || busy)
        kernel(arg, 0, 1);
    else if (leading)
        hand_out_one(&l);
    else
        gcut_rt_team(hand_out_one, &l, threads);
}

static atomic_flag noting = ATOMIC_FLAG_INIT;

void gcut_rt_note(gcut_rt_fault *all, const gcut_rt_fault *mine)
{
    if (mine->at == INT64_MAX) return;
    while (atomic_flag_test_and_set_explicit(&noting, memory_order_acquire)) counter_relax();
    if (mine->at < all->at) *all = *mine;
    atomic_flag_clear_explicit(&noting, memory_order_release);
}

/* ---- fork, unload, exit ---- */

/* Ends the threads of idle workers.  With the lock held. */
static void end_idle(void)
{
    for (worker *w = pool.idle; w; w = w->next)
        if (w->alive) {
            w->quit = 1;
            counter_advance(&w->work);
        }
    for (worker *w = pool.idle; w; w = w->next)
        if (w->alive) {
            pthread_join(w->thread, NULL);
            w->alive = 0;
        }
}

/* A child has no thread but the one that forked.  Both processes start new ones with their next step. */
static void before_fork(void)
{
    pthread_mutex_lock(&pool.lock);
    end_idle();
}

static void in_parent(void)
{
    pthread_mutex_unlock(&pool.lock);
}

/* Teams of other threads are not here, and no longer hold their workers. */
static void in_child(void)
{
    for (int i = 0; i < pool.used; i++) pool.all[i].alive = 0;
    pool.running = leading ? leading->size : 0;
    if (!leading) pool.idle = NULL, pool.used = 0;
    atomic_flag_clear_explicit(&noting, memory_order_relaxed); /* perhaps held by another thread */
    pthread_mutex_unlock(&pool.lock);
}

/* The handlers go with the object that they lie in, so an unloaded step leaves none. */
__attribute__((constructor)) static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, in_parent, in_child);
}

/* The code of the threads goes when the object is unloaded.  Here also at the end of the process, where other
 * threads may still be in a step: their workers are left alone. */
__attribute__((destructor)) static void end_threads(void)
{
    pthread_mutex_lock(&pool.lock);
    end_idle();
    pthread_mutex_unlock(&pool.lock);
}
