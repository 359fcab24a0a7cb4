/* One parcel on its way from a giver's keeper A to a taker at keeper B, as SPIN checks it: the
 * couriers of both servers (sender.hpp, receiver.hpp), and what the keepers know of the parcel
 * (src/parcel/parcel_book.hpp). Either courier is killed up to CRASHES times at any step, and
 * another one begins; the network is cut up to CUTS times, of which each side hears when it
 * hears; the taker dies once. The keepers live.
 *
 *   scripts/model-check     checks it, and that each of the mutations below is found
 *
 * What holds:
 *   - the parcel is taken once, and once more for each taker that died with it
 *   - whoever takes it finds all of its bytes
 *   - its giver is told that it has arrived only when a taker has confirmed it
 *   - no two connections give it at keeper B
 *   - nothing is stuck: where no step is left, the giver has been told
 *
 * Abstractions: a connection has room for two messages each way; all bytes are one message; room at
 * the taker is there.
 *
 * Mutations (-DNAME), each a bug that was thought of: FORGET_CLOSED, FINISH_AT_LANDED, DROP_STALE,
 * RESUME_UNHEARD, OPEN_OUTLIVES, LOST_WITH_COURIER, CLOSE_EARLY, TELL_AT_CLOSE, EARLY_CLAIM.
 */

#ifndef CRASHES
#define CRASHES 2
#endif
#ifndef CUTS
#define CUTS 2
#endif

mtype = { none, open, closed, taken, confirmed, ended };         /* a parcel at a keeper */
mtype = { idle, waiting, offered, landed };                      /* at the sender */
mtype = { offer, bytes, go, stale, has_landed, has_ended }; /* said */

/* --- the keepers ------------------------------------------------------------------------------ */
mtype at_a = closed;
byte turn_a = 1; /* under which it is spoken for at A; its giver said 1 */
mtype at_b = none;
byte highest_b = 0;
bool closed_b = false;  /* something that began under turn 1 was */
bool heard_b = false;   /* a connection of B's courier hears what becomes of it */
bool news_b = false;    /* it has not heard yet that it has been confirmed */

/* --- the connection --------------------------------------------------------------------------- */
bool link_a = false, link_b = false;
chan to_b = [2] of { mtype, byte };
chan to_a = [2] of { mtype, byte };
mtype stage = idle;
byte offered_turn;
bool filling = false;

/* An earlier connection has let go of what it had at keeper B. */
#ifndef EARLY_CLAIM
#define let_go !link_b
#else
#define let_go true
#endif

/* --- ghosts ----------------------------------------------------------------------------------- */
bool whole = false; /* all bytes are in the segment of what is open or closed at B */
bool told = false;
byte takes = 0, deaths = 0;

inline flush() {
  do
  :: to_a?_, _
  :: to_b?_, _
  :: len(to_a) == 0 && len(to_b) == 0 -> break
  od
}
/* B's courier lets go of what it had at its keeper. */
inline leave_b() {
  link_b = false;
  heard_b = false;
  news_b = false;
  filling = false;
#ifndef OPEN_OUTLIVES
  if
  :: at_b == open -> at_b = none; whole = false
  :: else
  fi;
#endif
}
inline lose_a() {
  link_a = false;
  if
  :: stage != idle -> stage = waiting
  :: else
  fi
}

active proctype sender() {
  mtype said;
  byte number;
  byte crashes = 0;
  do
  :: atomic { !link_a && let_go && !told -> flush(); link_a = true; link_b = true }
  :: atomic { stage == idle && at_a == closed -> at_a = taken; turn_a++; stage = waiting }
  :: atomic { link_a && stage == waiting && len(to_b) < 2 ->
       offered_turn = turn_a; stage = offered; to_b!offer, offered_turn }
  :: atomic { link_a && len(to_a) > 0 && len(to_b) < 2 ->
       to_a?said, number;
       if
       :: said == go -> to_b!bytes, 0
       :: said == stale ->
#ifndef DROP_STALE
          turn_a = (number > turn_a -> number : turn_a) + 1;
          stage = waiting
#else
          skip
#endif
       :: said == has_landed ->
          stage = landed;
#ifdef FINISH_AT_LANDED
          assert(at_b == confirmed || at_b == ended);
          at_a = ended; told = true; stage = idle
#endif
       :: said == has_ended ->
          assert(at_b == confirmed || at_b == ended);
          at_a = ended; told = true; stage = idle
       fi }
  :: atomic { crashes < CRASHES && !told ->
       crashes++;
       link_a = false;
       flush();
       stage = idle;
       if
#ifndef LOST_WITH_COURIER
       :: at_a == taken -> at_a = closed
#else
       :: at_a == taken -> at_a = ended
#endif
       :: else
       fi }
  :: told -> break
  od
}

active proctype receiver() {
  mtype said;
  byte number;
  byte crashes = 0;
  bool committed = false;
end:
  do
  :: atomic { link_b && len(to_b) > 0 && len(to_a) < 2 && !committed ->
       to_b?said, number;
       if
       :: said == offer && closed_b && (at_b == closed || at_b == taken) ->
#ifndef RESUME_UNHEARD
          heard_b = true;
#endif
          to_a!has_landed, 0
       :: said == offer && closed_b && (at_b == confirmed || at_b == ended) -> to_a!has_ended, 0
       :: said == offer && (!closed_b || at_b == none || at_b == open) ->
          assert(at_b != open && at_b != closed && at_b != taken);
          if
          :: number <= highest_b -> to_a!stale, highest_b
          :: else -> at_b = open; whole = false; highest_b = number; filling = true; to_a!go, 0
          fi;
#ifdef CLOSE_EARLY
          if
          :: at_b == open -> at_b = closed; closed_b = true; heard_b = true
          :: else
          fi
#endif
       :: said == bytes && filling -> whole = true; filling = false; committed = true
       :: said == bytes && !filling
       fi }
  :: atomic { committed && link_b && len(to_a) < 2 -> /* the segment is; now the parcel */
       committed = false;
       at_b = closed;
#ifndef FORGET_CLOSED
       closed_b = true;
#endif
       heard_b = true;
#ifdef TELL_AT_CLOSE
       news_b = true;
#endif
       to_a!has_landed, 0 }
  :: atomic { link_b && news_b && len(to_a) < 2 -> news_b = false; heard_b = false; to_a!has_ended, 0 }
  :: atomic { link_b && !link_a -> leave_b(); committed = false } /* it hears that the other is gone */
  :: atomic { crashes < CRASHES && link_b && !told ->
       crashes++;
       leave_b();
       committed = false;
       flush();
       lose_a() }
  od
}

active proctype network() {
  byte cuts = 0;
end:
  do
  :: atomic { cuts < CUTS && link_a && !told -> cuts++; flush(); lose_a() }
  od
}

active proctype taker() {
end:
  do
  :: atomic { at_b == closed ->
       assert(whole);
       at_b = taken; highest_b++; takes++;
       assert(takes <= 1 + deaths) }
  :: atomic { at_b == taken -> at_b = confirmed; news_b = heard_b }
  :: atomic { at_b == confirmed -> at_b = ended }
  :: atomic { at_b == taken && deaths == 0 -> deaths++; at_b = closed }
  od
}
