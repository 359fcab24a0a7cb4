/* One move of one request, as SPIN checks it: the tables of docs/engine/migration.md, with a source,
 * a destination, a router, and a third engine that computes anew. One fault at any step: a crash of
 * source, destination or router, a source or a destination that is taken for dead and is not, a
 * client that goes, a move that the router gives up, a destination that fails or gives up, a source
 * whose KV is lost. An answer that has outgrown its room stays.
 *
 *   scripts/model-check     checks it, and that each of the mutations below is found
 *
 * What holds:
 *   - tokens reach the client in order, none is lost and none comes twice
 *   - no two speak under one turn, and nobody under a turn that was not given
 *   - where no step is left, no room is taken on either side, no parcel is left, and the client has
 *     all, unless it is gone
 *
 * Abstractions: rounds of copies, or of ids that are told and computed ahead, are one step, so that
 * a move by KV and one by tokens are the same; a copy is complete or not there. A source that waits
 * for others is told that it takes too long when nothing else can happen. A new router begins with
 * cancelling what its predecessor's clients asked for.
 *
 * Mutations (-DNAME), each a bug that was thought of: GOES_ON_UNASKED, SPEAKS_UNASKED, OLD_TURN_PASSES,
 * TURN_KEPT, FREES_TOO_EARLY, DEAD_MAY_CONFIRM, NO_SWEEP, ROOM_KEPT, LATE_AWAITED, LOSS_ENDS_HOLD.
 */
#define N 2 /* tokens; the end of the stream has position N */

mtype = { reserving, copying, holding, closing, handed, asking, stays, moved, gone };
mtype = { nothing, room, landing, ready, speaking, freed };
mtype = { moving, alone, orphaned, switched, kept, recomputed, finished };
mtype = { p_none, p_open, p_closed, p_taken };
mtype = { confirm, resume, abandon, hurry, cancel, grant, deny, inquire, withdrawn, report, ask, failed,
          all_here, source_died, destination_died, router_died };

mtype s = reserving;
mtype d = nothing;
mtype r = moving;
mtype parcel = p_none;
byte note = 0; /* tokens generated, says the parcel */

chan to_s = [4] of { mtype, byte, byte };
chan to_d = [4] of { mtype, byte, byte };
chan from_s = [4] of { mtype };
chan from_d = [4] of { mtype, byte };
chan words_s = [1] of { byte, byte };
chan words_d = [1] of { byte, byte };
chan words_e = [1] of { byte, byte };

bool s_up = true, d_up = true, r_up = true, client = true;
bool s_has = true, d_has = false, e_has = false;       /* room */
bool s_speaks = true, d_speaks = false, e_speaks = false;
bool s_held = false;
byte s_turn = 1, d_turn = 0, e_turn = 0;
byte s_known = 1, d_known = 0, e_known = 0;
byte s_next = 0, d_next = 0, e_next = 0;
/* The filter. */
byte turn = 1, next = 0;
byte given_from = 0;

#define one_speaks_a_turn \
  (!(s_speaks && d_speaks && s_turn == d_turn) && !(s_speaks && e_speaks && s_turn == e_turn) && \
   !(d_speaks && e_speaks && d_turn == e_turn))

inline tell_s(what, t, from) { if :: s_up -> to_s!what, t, from :: else -> skip fi }
inline tell_d(what, t, from) { if :: d_up -> to_d!what, t, from :: else -> skip fi }

/* --- the source ------------------------------------------------------------------------------ */
inline withdraw() {
  if
  :: parcel == p_taken || parcel == p_none -> skip
  :: else -> parcel = p_none
  fi;
  tell_d(withdrawn, 0, 0)
}
inline s_free() { s_has = false; s_speaks = false; s_held = false }
inline s_stays() { s_held = false; s = stays }

/* The move is off: the source goes on by itself where the destination cannot have all, else asks. */
inline s_gives_up(tells) {
  if
  :: s == reserving || s == copying || s == holding ->
     withdraw(); s_stays();
     if :: tells -> from_s!report :: else -> skip fi
  :: s == closing || s == handed || s == asking ->
#ifdef GOES_ON_UNASKED
     withdraw(); s_stays()
#else
     s = asking; from_s!ask
#endif
  :: else -> skip
  fi
}

/* Its KV is gone, and it is computed again. Before the hold it goes on; once it is held it says nothing
 * until it is told who is to speak. What was on its way may be complete all the same. */
inline s_loses() {
#ifdef LOSS_ENDS_HOLD
  s_held = false;
#endif
  if
  :: s == reserving || s == copying || s == holding -> withdraw(); s_stays(); from_s!report
  :: s == closing ->
     if :: parcel == p_open -> parcel = p_none :: true -> skip fi;
     s = asking; from_s!ask
  :: else -> skip
  fi
}

active proctype Source() {
  byte t, from;
  mtype what;
end_s:
  do
  :: atomic { s_up && s_speaks && !s_held && nfull(words_s) ->
       words_s!s_turn, s_next;
       if
       :: s_next == N ->
          s_has = false; s_speaks = false;
          if
          :: s == reserving || s == copying || s == holding -> withdraw(); s = gone
          :: else -> skip
          fi
       :: else ->
          s_next++;
          if :: s_next > s_known -> s_known = s_next :: else -> skip fi
       fi }
  :: atomic { s_up && d_up && s == reserving && d == nothing ->
       d = room; d_has = true; parcel = p_open; s = copying }
  :: atomic { s_up && s == reserving -> s = stays; from_s!report }
  :: atomic { s_up && s == copying -> s = holding }
  :: atomic { s_up && s == holding -> s = closing; s_held = true; note = s_known }
  /* It is held with more than there is room for. */
  :: atomic { s_up && s == holding -> withdraw(); s_stays(); from_s!report }
  :: atomic { s_up && s == closing && parcel == p_open -> parcel = p_closed }
  :: atomic { s_up && s == closing && parcel != p_open ->
       s = handed;
#ifdef FREES_TOO_EARLY
       s_free()
#endif
     }
  :: atomic { s_up && nempty(to_s) -> to_s?what, t, from;
       if
       :: what == confirm && s != moved && s != gone -> withdraw(); s_free(); s = moved
       :: what == resume && s != moved && s != gone ->
          if :: s != stays -> withdraw(); s_stays() :: else -> skip fi;
          s_turn = t; s_next = from
       :: what == cancel -> if :: s != moved && s != gone && s != stays -> withdraw() :: else -> skip fi;
          s_free();
          if :: s != stays && s != moved -> s = gone :: else -> skip fi
       :: what == abandon || what == hurry -> s_gives_up(true)
       :: what == router_died -> s_gives_up(false)
       :: else -> skip
       fi }
  :: timeout && s_up && (s == closing || s == handed || s == copying || s == holding) && s_has ->
     atomic { s_gives_up(true) }
  od
}

/* --- the destination ------------------------------------------------------------------------- */
inline d_free() {
#ifndef ROOM_KEPT
  d_has = false;
#endif
  d_speaks = false; d = freed;
  if :: parcel == p_taken || parcel == p_closed -> parcel = p_none :: else -> skip fi
}
/* The landing fails, or it has waited for too long. */
inline d_fails() { d_free(); from_d!failed, 0 }

active proctype Destination() {
  byte t, from;
  mtype what;
end_d:
  do
  :: atomic { d_up && d == room && parcel == p_closed -> parcel = p_taken; d = landing }
  :: atomic { d_up && d == landing ->
       d = ready; from_d!all_here, note;
#ifdef SPEAKS_UNASKED
       d_speaks = true; d_turn = turn + 1; d_known = note; d_next = note; parcel = p_none
#endif
     }
  :: atomic { d_up && d_speaks && nfull(words_d) ->
       words_d!d_turn, d_next;
       if
       :: d_next == N -> d_has = false; d_speaks = false
       :: else ->
          d_next++;
          if :: d_next > d_known -> d_known = d_next :: else -> skip fi
       fi }
  :: atomic { d_up && nempty(to_d) -> to_d?what, t, from;
       if
       :: what == grant && d == ready ->
          assert(from <= note);
          d = speaking; d_speaks = true; d_turn = t; d_known = note; d_next = from;
#ifdef LATE_AWAITED
          d_next = note;
#endif
          parcel = p_none
       :: (what == deny || what == cancel) && d != nothing && d != freed -> d_free()
       :: what == withdrawn && d == room -> d_free()
       :: what == inquire && (d == nothing || d == freed) -> from_d!failed, 0
       :: what == inquire && d == room -> d_free(); from_d!failed, 0
       :: what == router_died && d == ready -> from_d!all_here, note
       :: else -> skip
       fi }
  od
}

/* --- the third engine ------------------------------------------------------------------------ */
active proctype Other() {
end_o:
  do
  :: atomic { e_speaks && nfull(words_e) ->
       words_e!e_turn, e_next;
       if
       :: e_next == N -> e_has = false; e_speaks = false
       :: else -> e_next++
       fi }
  od
}

/* --- the router ------------------------------------------------------------------------------ */
inline give() {
#ifdef TURN_KEPT
  if :: turn == 1 -> turn++ :: else -> skip fi;
#else
  turn++;
#endif
  given_from = next
}
inline sweep() {
#ifndef NO_SWEEP
  if :: parcel == p_closed -> parcel = p_none :: else -> skip fi
#else
  skip
#endif
}
inline recompute() {
  sweep(); give();
  e_has = true; e_speaks = true; e_turn = turn; e_known = next; e_next = next;
  r = recomputed
}
inline source_is_dead() {
  if
  :: r == moving -> r = orphaned; tell_d(inquire, 0, 0)
  :: r == alone || r == kept -> recompute()
  :: r == recomputed || r == finished -> sweep()
  :: else -> skip
  fi
}
inline destination_is_dead() {
  if
  :: r == moving -> r = alone; tell_s(abandon, 0, 0)
  :: r == orphaned || r == switched -> recompute()
  :: r == kept || r == recomputed || r == finished -> sweep()
  :: else -> skip
  fi
}
inline all_cancelled() {
  client = false;
  if
  :: r == moving -> tell_s(cancel, 0, 0); tell_d(cancel, 0, 0); r = finished
  :: r == alone || r == kept -> tell_s(cancel, 0, 0); r = finished
  :: r == orphaned || r == switched -> tell_d(cancel, 0, 0); r = finished
  :: else -> skip
  fi;
  e_has = false; e_speaks = false
}
inline hears(t, position) {
  if
  :: !r_up || !client -> skip
  :: else ->
     if
#ifdef OLD_TURN_PASSES
     :: t < turn && position == next -> next++; assert(false)
#endif
     :: t > turn -> assert(false)                         /* was never given */
     :: t == turn && position > next -> assert(false)     /* a gap */
     :: t == turn && position == next ->
        next++;
        if
        :: position == N && (r == moving || r == orphaned) -> tell_d(cancel, 0, 0); r = finished
        :: position == N && r != recomputed -> r = finished
        :: else -> skip
        fi
     :: else -> skip
     fi
  fi
}
active proctype Router() {
  byte t, position;
  mtype what;
end_r:
  do
  :: atomic { words_s?t, position -> hears(t, position) }
  :: atomic { words_d?t, position -> hears(t, position) }
  :: atomic { words_e?t, position -> hears(t, position) }
  :: atomic { from_s?what ->
       if
       :: what == source_died -> source_is_dead()
       :: what == report ->
          if
          :: r == moving -> r = kept; tell_d(deny, 0, 0)
          :: r == alone -> r = kept
          :: r == kept -> skip
          :: else -> tell_s(confirm, 0, 0)
          fi
       :: what == ask ->
          if
          :: r == moving || r == alone -> r = kept; give(); tell_d(deny, 0, 0); tell_s(resume, turn, given_from)
          :: r == kept -> tell_s(resume, turn, given_from)
          :: else -> tell_s(confirm, 0, 0)
          fi
       fi }
  :: atomic { from_d?what, position ->
       if
       :: what == destination_died -> destination_is_dead()
       :: what == failed ->
          if
          :: r == moving -> r = alone; tell_s(abandon, 0, 0)
          :: r == orphaned || r == switched -> recompute()
          :: else -> skip
          fi
       :: what == all_here ->
          if
          :: position < next && r == moving -> r = kept; give(); tell_d(deny, 0, 0); tell_s(resume, turn, given_from)
          :: position < next && r == orphaned -> tell_d(deny, 0, 0); recompute()
          :: position >= next && r == moving ->
             r = switched; give(); tell_d(grant, turn, given_from); tell_s(confirm, 0, 0)
          :: position >= next && r == orphaned ->
             r = switched; give(); tell_d(grant, turn, given_from)
          :: r == switched -> tell_d(grant, turn, given_from)
#ifdef DEAD_MAY_CONFIRM
          :: r == alone -> r = switched; give(); tell_d(grant, turn, given_from); tell_s(confirm, 0, 0)
          :: r == kept || r == recomputed || r == finished -> tell_d(deny, 0, 0)
#else
          :: r == alone || r == kept || r == recomputed || r == finished -> tell_d(deny, 0, 0)
#endif
          fi
       fi }
  od
}

/* --- the one fault ---------------------------------------------------------------------------- */
/* News of a death may overtake what the dead has sent. */
active proctype Fault() {
  mtype what;
  byte position;
  if
  :: atomic { s_up = false; s_free();
              do :: to_s?_, _, _ :: empty(to_s) -> break od;
              if :: parcel == p_open -> parcel = p_none :: else -> skip fi;
              if
              :: nempty(from_s) -> from_s?what; from_s!source_died; from_s!what
              :: true -> from_s!source_died
              fi }
  :: atomic { d_up = false; d_has = false; d_speaks = false;
              do :: to_d?_, _, _ :: empty(to_d) -> break od;
              if :: parcel == p_taken -> parcel = p_closed :: else -> skip fi;
              if
              :: nempty(from_d) -> from_d?what, position; from_d!destination_died, 0; from_d!what, position
              :: true -> from_d!destination_died, 0
              fi }
  /* It stood still for long, and is taken for dead. */
  :: atomic { s_has -> from_s!source_died }
  :: atomic { r == moving && d != nothing -> from_d!destination_died, 0 }
  /* The router, whose clients are gone: the next one cancels. */
  :: atomic { do :: from_s?_ :: from_d?_, _ :: empty(from_s) && empty(from_d) -> break od;
              r = moving; tell_s(router_died, 0, 0); tell_d(router_died, 0, 0); all_cancelled() }
  :: atomic { client && next <= N -> all_cancelled() }
  :: atomic { r == moving -> tell_s(hurry, 0, 0) }
  :: atomic { s_up && s_has -> s_loses() }
  :: atomic { d_up && (d == room || d == landing || d == ready) -> d_fails() }
  :: true -> skip
  fi
}

/* Nothing is stuck: looked at where no process has a step left. */
active proctype Watchdog() {
end_w:
  timeout && !(s_up && s_has && (s == closing || s == handed || s == copying || s == holding)) ->
  assert(!s_has);
  assert(!d_has);
  assert(!e_has);
  assert(parcel == p_none);
  assert(!client || next == N + 1)
}

/* Looked at in every state. */
active proctype Always() {
  end: atomic { !one_speaks_a_turn -> assert(false) }
}
