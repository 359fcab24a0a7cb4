/* Recovery of a group, as SPIN checks it: the states of docs/internals/groups.md, with a pipeline of
 * two stages, one standby and one newcomer, and messages of one sequence from the first stage to the
 * second. Two processes may die at any step, one may stop for a while, and the coordinator may
 * crash once and start again from its store.
 *
 *   scripts/model-check     checks it, and that each of the mutations below is found
 *
 * What holds:
 *   - in one term a rank has one member at most, ever; terms never go back
 *   - nobody sends or takes anything under an older term after it has acknowledged a newer one, also
 *     what a process that is dead by then had under way
 *   - a group runs in a term only when all members of the term have acknowledged it
 *   - who is replaced is dead
 *   - every recovery ends (LTL recovery_ends): the group runs, or there is nobody for a rank
 *   - nothing is stuck: where no step is left, that holds as well
 *
 * Abstractions: a watch shows the group as it is now; a call is a request and its commit, two steps;
 * watermarks are left out, since only their bearer's term matters here.
 *
 * A bug that leaves no process without a step, so that only the liveness check shows it:
 * PLAN_MADE_ANEW.
 *
 * Mutations (-DNAME), each a bug that was thought of: TERM_KEPT_AT_DEATH, TOLD_BEFORE_WRITTEN,
 * NO_FENCE, ACTS_AFTER_ACKNOWLEDGING, SILENCE_IS_DEATH, NOT_ASKED_AGAIN, DEATH_MEANWHILE_LOST,
 * RUNS_BEFORE_ALL, OLD_ACKNOWLEDGEMENT_COUNTS.
 */
#ifndef SENDS
#define SENDS 2 /* messages in all; recoveries are the same without */
#endif
#define N 4 /* 0 and 1 begin with these ranks, 2 stands by, 3 joins later as a standby */
#define NOBODY 255
#define STANDBY 2
#define OUT 3

bool crashed[N];
bool stopped[N];
#define up(p) (!crashed[p] && !stopped[p])

/* --- the coordinator: what it has in memory, and what is written down ------------------------ */
mtype = { running, waiting, sealing, resuming };
byte term = 1;
mtype state = running;
byte place[N]; /* 0, 1, STANDBY, OUT */
byte written_term = 1;
mtype written_state = running;
byte written_place[N];
bool down = false;
/* Gone with it: */
bool acknowledged[N];
bool carried_out[N];
bool heard[N];

/* --- calls under way ---------------------------------------------------------------------------- */
mtype = { nothing, ask_acknowledge, ask_resumed };
mtype request[N] = nothing;
byte request_term[N];

/* --- the members: what each knows ---------------------------------------------------------------- */
byte member_term[N]; /* the newest that it has acknowledged */
byte member_place[N];
byte acts_in[N];     /* the term in which it was told that the group runs; 0: none */
byte sends = 0;
bool under_way = false; /* a message from the first stage to the second */
byte under_way_term;

/* --- ghosts --------------------------------------------------------------------------------------- */
byte holder[32] = NOBODY; /* 2 x term + rank */

#define ranked(p) (place[p] < 2)
#define has(r) (place[0] == r || place[1] == r || place[2] == r || place[3] == r)
#define whole (has(0) && has(1))
#define all_have(what) ((!ranked(0) || what[0]) && (!ranked(1) || what[1]) && \
                        (!ranked(2) || what[2]) && (!ranked(3) || what[3]))
#define free_one(p) (place[p] == STANDBY && !crashed[p])
#define hopeless (!whole && !free_one(0) && !free_one(1) && !free_one(2) && !free_one(3))

inline write_down() {
  written_term = term; written_state = state;
  written_place[0] = place[0]; written_place[1] = place[1];
  written_place[2] = place[2]; written_place[3] = place[3]
}

#ifdef TOLD_BEFORE_WRITTEN
bool unwritten = false;
#define changed() unwritten = true
#else
#define changed() write_down()
#endif

#define forget_all(what) what[0] = false; what[1] = false; what[2] = false; what[3] = false

inline next_term() {
#ifndef TERM_KEPT_AT_DEATH
  term++;
#endif
  forget_all(acknowledged); forget_all(carried_out)
}

/* The first standby that is heard of gets the first rank that is empty. */
inline seat(r) {
  if
  :: has(r) -> skip
  :: !has(r) && place[2] == STANDBY && heard[2] -> place[2] = r
  :: !has(r) && !(place[2] == STANDBY && heard[2]) && place[3] == STANDBY && heard[3] -> place[3] = r
  :: else -> skip
  fi
}

inline settle() {
  seat(0); seat(1);
  if
  :: !whole -> state = waiting
  :: else ->
     if
#ifdef RUNS_BEFORE_ALL
     :: acknowledged[0] || acknowledged[1] || acknowledged[2] || acknowledged[3] -> state = running
#endif
     :: all_have(acknowledged) && all_have(carried_out) -> state = running
     :: all_have(acknowledged) && !all_have(carried_out) -> state = resuming
     :: else -> state = sealing
     fi
  fi
}

inline replace(p) {
  assert(crashed[p]);
  place[p] = OUT; next_term(); state = waiting; settle(); changed()
}

#ifdef DEATH_MEANWHILE_LOST
#define may_replace (state == running)
#else
#define may_replace true
#endif
#ifdef SILENCE_IS_DEATH
#define gone(p) (crashed[p] || stopped[p])
#else
#define gone(p) crashed[p]
#endif
#ifdef OLD_ACKNOWLEDGEMENT_COUNTS
#define of_this_term(p) true
#else
#define of_this_term(p) (request_term[p] == term)
#endif

/* `p` is 0 to 3, one after another. */
#define FOR_EACH(p) \
  :: atomic { !down && ranked(p) && gone(p) && may_replace -> replace(p) } \
  :: atomic { !down && place[p] == STANDBY && crashed[p] -> place[p] = OUT; changed() } \
  :: atomic { !down && !heard[p] && up(p) -> heard[p] = true; \
       if :: state == waiting -> settle(); changed() :: else -> skip fi } \
  :: atomic { !down && request[p] == ask_acknowledge -> request[p] = nothing; \
       if \
       :: of_this_term(p) && ranked(p) && state != running && !acknowledged[p] -> \
          acknowledged[p] = true; settle(); changed() \
       :: else -> skip \
       fi } \
  :: atomic { !down && request[p] == ask_resumed -> request[p] = nothing; \
       if \
       :: request_term[p] == term && ranked(p) && state == resuming -> \
          carried_out[p] = true; settle(); changed() \
       :: else -> skip \
       fi }

active proctype Coordinator() {
end:
  do
  FOR_EACH(0)
  FOR_EACH(1)
  FOR_EACH(2)
  FOR_EACH(3)
#ifdef TOLD_BEFORE_WRITTEN
  :: atomic { !down && unwritten -> unwritten = false; write_down() }
#endif
#ifdef PLAN_MADE_ANEW
  :: atomic { !down && state == resuming -> forget_all(carried_out); changed() }
#endif
  :: atomic { down -> down = false; /* started again, from the store */
       term = written_term; state = written_state;
       place[0] = written_place[0]; place[1] = written_place[1];
       place[2] = written_place[2]; place[3] = written_place[3];
       if :: state == resuming -> next_term(); state = sealing; changed() :: else -> skip fi }
  od
}

/* What a member does when it hears of a term: nothing of an older one any more. */
#ifdef ACTS_AFTER_ACKNOWLEDGING
#define seal(p) skip
#else
#define seal(p) acts_in[p] = 0
#endif
#ifdef NO_FENCE
#define fenced(p) (acts_in[p] != 0)
#else
#define fenced(p) (acts_in[p] != 0 && under_way_term == acts_in[p])
#endif
#ifdef NOT_ASKED_AGAIN
#define asked(p) (member_term[p] < term)
#else
#define asked(p) !acknowledged[p]
#endif

/* All members of a term have acknowledged it, unless they have died since. */
#define knows(t, r) (holder[2 * (t) + (r)] != NOBODY)


proctype Member(byte p) {
end:
  do
  /* Joins, to stand by. */
  :: atomic { up(p) && !down && p == 3 && place[p] == OUT && member_term[p] == 0 && heard[p] ->
       member_term[p] = 1; place[p] = STANDBY;
       if :: state == waiting -> settle() :: else -> skip fi;
       changed() }
  /* Acknowledges: the rank is its own in this term. */
  :: atomic { up(p) && !down && ranked(p) && state != running && state != resuming && asked(p) &&
              request[p] == nothing ->
       assert(term >= member_term[p]);                         /* terms never go back */
       assert(holder[2 * term + place[p]] == NOBODY || holder[2 * term + place[p]] == p);
       holder[2 * term + place[p]] = p;
       member_term[p] = term; member_place[p] = place[p];
       seal(p);
       request[p] = ask_acknowledge; request_term[p] = term }
  /* Carries out the plan, and says so. */
  :: atomic { up(p) && !down && ranked(p) && state == resuming && !carried_out[p] &&
              member_term[p] == term && request[p] == nothing ->
       request[p] = ask_resumed; request_term[p] = term }
  /* Hears that the group runs. */
  :: atomic { up(p) && !down && ranked(p) && state == running && acts_in[p] < term &&
              member_term[p] == term -> acts_in[p] = term }
  /* The first stage sends, the second takes. */
  :: atomic { up(p) && acts_in[p] != 0 && member_place[p] == 0 && !under_way && sends < SENDS ->
       assert(acts_in[p] >= member_term[p]);
       assert(knows(acts_in[p], 0) && knows(acts_in[p], 1));
       sends++; under_way = true; under_way_term = acts_in[p] }
  :: atomic { up(p) && under_way && member_place[p] == 1 && member_term[p] != 0 ->
       under_way = false;
       if
       :: fenced(p) ->
          assert(under_way_term >= member_term[p]);
          assert(knows(acts_in[p], 0) && knows(acts_in[p], 1))
       :: else -> skip /* refused */
       fi }
  od
}

/* --- faults ---------------------------------------------------------------------------------------- */
byte deaths = 0;
bool has_stopped = false;
bool has_crashed = false;

inline die(p) { crashed[p] = true; deaths++; request[p] = nothing }

active proctype Fault() {
end:
  do
  :: atomic { deaths < 2 && up(0) -> die(0) }
  :: atomic { deaths < 2 && up(1) -> die(1) }
  :: atomic { deaths < 2 && up(2) -> die(2) }
  :: atomic { deaths < 2 && up(3) -> die(3) }
  :: atomic { !has_crashed -> has_crashed = true; down = true;
       forget_all(acknowledged); forget_all(carried_out); forget_all(heard);
       request[0] = nothing; request[1] = nothing; request[2] = nothing; request[3] = nothing
#ifdef TOLD_BEFORE_WRITTEN
       ; unwritten = false
#endif
     }
  :: atomic { !has_stopped && up(1) -> has_stopped = true; stopped[1] = true }
  :: atomic { stopped[1] -> stopped[1] = false }
  :: break
  od;
  atomic { if :: stopped[1] -> stopped[1] = false :: else -> skip fi } /* goes on in the end */
}

/* Nothing is stuck: looked at where no process has a step left. */
active proctype Watchdog() {
  timeout ->
  assert(!down);
  assert(state == running || hopeless)
}

init {
  atomic {
    place[0] = 0; place[1] = 1; place[2] = STANDBY; place[3] = OUT;
    member_place[0] = 0; member_place[1] = 1; member_place[2] = STANDBY; member_place[3] = OUT;
    member_term[0] = 1; member_term[1] = 1; acts_in[0] = 1; acts_in[1] = 1;
    holder[2] = 0; holder[3] = 1;
    heard[0] = true; heard[1] = true; heard[2] = true;
    write_down();
    run Member(0); run Member(1); run Member(2); run Member(3)
  }
}

ltl recovery_ends { [] (state != running -> <> (state == running || hopeless)) }
