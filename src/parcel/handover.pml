/* The parcels of one request, as SPIN checks them: the record of src/parcel/parcel_book.hpp, two
 * givers and two takers, with one fault: a crash of anyone at any step, one long stop of anyone,
 * for a while or for ever, or a connection that closes under a process that lives on. The keeper
 * lives: what it knows ends with it.
 *
 *   scripts/model-check     checks it, and that each of the mutations below is found
 *
 * What holds:
 *   - each turn has one speaker, so that under the highest one at most one process speaks
 *   - nothing is accepted under a lower turn once a higher one has been seen
 *   - a parcel that was closed is there until its work is finished by who speaks for it, or one of
 *     a higher turn is closed
 *   - what a taker has mapped is given to nobody else
 *   - nothing is stuck: where no step is left, every parcel is finished, or a process that has
 *     stopped for ever or hung up keeps it
 *
 * Abstractions: each giver has one parcel at a time, and begins the request at most BEGINS times,
 * the second time anew; a request of a process is its decision and the keeper's answer, two steps.
 *
 * Mutations (-DNAME), each a bug that was thought of: KEEP_TURN, FORGET_TURNS, NO_TURN_CHECK,
 * TAKE_WHILE_OPEN, END_AT_OPEN, CLOSE_LOWER, EOF_IS_DEATH, DROP_WITH_TAKER, DROP_SUPERSEDED,
 * KEEP_REPLACED.
 */

#ifndef BEGINS
#define BEGINS 1
#endif
#define G0 0
#define G1 1
#define T0 2
#define T1 3
#define NOBODY 4

bool crashed[5];
bool stopped[5];
bool forever[5]; /* stopped, and never resumed */
bool hung_up[5];
#define up(x) (!crashed[x] && !stopped[x])
#define can_ask(x) (up(x) && !hung_up[x])
#ifdef EOF_IS_DEATH
#define proven(x) (crashed[x] || hung_up[x])
#else
#define proven(x) crashed[x]
#endif

/* --- the record, by giver -------------------------------------------------------------------- */
mtype = { absent, open, closed, taken };
mtype state[2] = absent;
byte turn[2];
byte taker[2] = NOBODY;
bool superseded[2];
bool replaced[2];
byte highest = 0;

/* --- what each process believes ----------------------------------------------------------------- */
byte speaks[5];      /* under which turn; 0: it does not */
byte wants[5];       /* a turn that it is about to ask for; 0: none */
byte has[5] = NOBODY; /* whose parcel a taker has, and maps */

/* --- ghosts ------------------------------------------------------------------------------------- */
byte speaker[32] = NOBODY;
bool complete = false; /* something was closed, and its work is not finished */

inline speak(who, under) {
  assert(speaker[under] == NOBODY);
  speaker[under] = who;
  speaks[who] = under
}

inline end_parcel(p) {
  state[p] = absent; taker[p] = NOBODY; superseded[p] = false; replaced[p] = false;
#ifdef FORGET_TURNS
  if :: state[G0] == absent && state[G1] == absent -> highest = 0 :: else -> skip fi
#endif
}

#ifdef TAKE_WHILE_OPEN
#define held(p) false
#else
#define held(p) (state[1 - p] == open && turn[1 - p] > turn[p])
#endif
#ifdef NO_TURN_CHECK
#define fits(under) true
#else
#define fits(under) (under > highest)
#endif

/* Its taker has it no more, and its work is not done. */
inline wait_again(p) {
#ifdef DROP_WITH_TAKER
  end_parcel(p)
#else
  if
#ifndef KEEP_REPLACED
  :: replaced[p] -> end_parcel(p)
#endif
  :: else -> state[p] = closed; taker[p] = NOBODY; superseded[p] = false; replaced[p] = false
  fi
#endif
}

/* A parcel is complete under the highest turn: what others were of the request is not any more. */
inline replace(p) {
  if
  :: state[p] == closed -> end_parcel(p)
  :: state[p] == taken -> replaced[p] = true
  :: else -> skip
  fi
}

proctype Giver(byte i) {
  byte begun = 0;
end:
  do
  /* Begins the request, or anew, under a turn above all that it has heard of. */
  :: atomic { up(i) && wants[i] == 0 && speaks[i] == 0 && begun < BEGINS && state[i] == absent ->
       begun++; wants[i] = highest + 1 }
  :: atomic { can_ask(i) && wants[i] != 0 && state[i] == absent ->
       if
       :: fits(wants[i]) ->
          highest = wants[i]; state[i] = open; turn[i] = wants[i];
          speak(i, wants[i]);
          if
#ifndef CLOSE_LOWER
          :: state[1 - i] == open -> end_parcel(1 - i)
#endif
#ifdef END_AT_OPEN
          :: state[1 - i] == closed -> end_parcel(1 - i)
#endif
          :: state[1 - i] == taken -> superseded[1 - i] = true
          :: else -> skip
          fi
       :: else -> skip /* aborted */
       fi;
       wants[i] = 0 }
  :: atomic { can_ask(i) && state[i] == open && speaks[i] == turn[i] ->
       assert(turn[i] == highest);
       state[i] = closed; complete = true; speaks[i] = 0;
       replace(1 - i) }
  /* It is told that its parcel has ended. */
  :: atomic { up(i) && speaks[i] != 0 && (state[i] != open || turn[i] != speaks[i]) ->
       speaks[i] = 0 }
  :: atomic { up(i) && hung_up[i] -> wants[i] = 0; speaks[i] = 0; break }
  od
}

inline take(p, t) {
  assert(has[T0] != p && has[T1] != p); /* nobody else has it mapped */
  state[p] = taken; taker[p] = t; has[t] = p;
#ifndef KEEP_TURN
  highest++;
  turn[p] = highest;
#endif
  speak(t, turn[p])
}

proctype Taker(byte t) {
  bool handed_on = false;
end:
  do
  :: atomic { can_ask(t) && has[t] == NOBODY && state[G0] == closed && !held(G0) -> take(G0, t) }
  :: atomic { can_ask(t) && has[t] == NOBODY && state[G1] == closed && !held(G1) -> take(G1, t) }
  /* Finishes it: its answers counted, if it was not superseded. */
  :: atomic { can_ask(t) && has[t] != NOBODY && wants[t] == 0 ->
       if
       :: !superseded[has[t]] ->
          assert(speaks[t] == highest);
          complete = false; end_parcel(has[t])
#ifdef DROP_SUPERSEDED
       :: else -> end_parcel(has[t])
#else
       :: else -> wait_again(has[t])
#endif
       fi;
       has[t] = NOBODY; speaks[t] = 0 }
  /* Hands it on, under a turn above its own. */
  :: atomic { up(t) && has[t] != NOBODY && wants[t] == 0 && !handed_on ->
       handed_on = true; wants[t] = speaks[t] + 1 }
  :: atomic { can_ask(t) && wants[t] != 0 ->
       if
       :: fits(wants[t]) ->
          speak(t, wants[t]);
          highest = wants[t];
          state[has[t]] = closed; taker[has[t]] = NOBODY; turn[has[t]] = wants[t];
          replace(1 - has[t]);
          has[t] = NOBODY; speaks[t] = 0
       :: else -> skip /* aborted: it may only finish it */
       fi;
       wants[t] = 0 }
  od
}

/* --- what the keeper does unasked ----------------------------------------------------------------- */
active proctype Keeper() {
end:
  do
  :: atomic { state[G0] == open && (crashed[G0] || hung_up[G0]) -> end_parcel(G0) }
  :: atomic { state[G1] == open && (crashed[G1] || hung_up[G1]) -> end_parcel(G1) }
  :: atomic { state[G0] == taken && proven(taker[G0]) -> wait_again(G0) }
  :: atomic { state[G1] == taken && proven(taker[G1]) -> wait_again(G1) }
  od
}

/* --- the one fault ---------------------------------------------------------------------------------- */
inline die(x) { crashed[x] = true; speaks[x] = 0; wants[x] = 0; has[x] = NOBODY }

active proctype Fault() {
  byte x;
  if
  :: x = G0 :: x = G1 :: x = T0 :: x = T1
  fi;
  if
  :: atomic { true -> die(x) }
  :: atomic { true -> stopped[x] = true }; atomic { true -> stopped[x] = false }
  :: atomic { true -> stopped[x] = true; forever[x] = true }
  :: atomic { true -> hung_up[x] = true }
  :: true -> skip /* none */
  fi
}

#define somewhere(p) (state[p] == closed || state[p] == taken)
active proctype Monitor() {
end:
  atomic { complete && !somewhere(G0) && !somewhere(G1) -> assert(false) /* what was closed is lost */ }
}

active proctype Watchdog() {
  timeout ->
  assert(state[G0] != open || forever[G0]);
  assert(state[G1] != open || forever[G1]);
  assert(state[G0] != closed || (held(G0) && forever[G1]));
  assert(state[G1] != closed || (held(G1) && forever[G0]));
  assert(state[G0] != taken || forever[taker[G0]] || hung_up[taker[G0]]);
  assert(state[G1] != taken || forever[taker[G1]] || hung_up[taker[G1]])
}

init { atomic { run Giver(G0); run Giver(G1); run Taker(T0); run Taker(T1) } }
