/* Recovery of a group of two servers, as SPIN checks it: docs/internals/groups.md, "Several servers".
 * Server 0 has the first stage, server 1 the second and a standby. The group is one row in etcd, which
 * either coordinator changes by comparing what it has read. At any step a process dies, a server is cut
 * off from everybody for a while, or a coordinator crashes: one of these where members send messages
 * and for liveness, two where they send none. A cut or a crash may last longer than the server's key in
 * etcd does, or not.
 *
 *   scripts/model-check     checks it, and that each of the mutations below is found
 *
 * What holds, whatever arrives late:
 *   - in one term a rank has one member at most, ever, whichever coordinator tells it; terms never go
 *     back, and a group that runs in a term, or has a plan in it, never seals in it again
 *   - nobody sends or takes anything under an older term after it has acknowledged a newer one
 *   - a group runs in a term only when all members of the term have acknowledged it
 *   - who is replaced is dead, or its server had no key when that was written
 *   - every recovery ends (LTL recovery_ends): the group runs, or there is nobody for a rank
 *   - nothing is stuck: where no step is left, all ranks' members act in the term that etcd has
 *
 * Abstractions: etcd is one row that is never lost; a change is on its way, lands and is answered, three
 * steps, of which the coordinator may give up waiting for the last two; one such change lands late, or
 * too late, which is as if it had been lost. A coordinator may change something while others do not know
 * of it, which is more than the real one does. Left out are who is silent, watermarks, backups, changes
 * in several parts, and what groups.pml shows already of one server.
 *
 * A bug that leaves no process without a step, so that only the liveness check shows it:
 * PLAN_MADE_ANEW.
 *
 * Mutations (-DNAME), each a bug that was thought of: COMPARES_NOTHING, COMPARES_TERM_ONLY,
 * KEY_NOT_COMPARED, TOLD_BEFORE_WRITTEN, OVERTAKEN_IS_DONE, UNSURE_IS_DONE, TERM_KEPT_WHEN_GONE, NO_FENCE,
 * ACTS_AFTER_ACKNOWLEDGING, RUNS_BEFORE_ALL, DEATH_MEANWHILE_LOST.
 */
#ifndef SENDS
#define SENDS 1 /* messages in all; recoveries are the same without */
#endif
#ifndef FAULTS
#ifdef DEATH_MEANWHILE_LOST
#define FAULTS 2 /* in all, each of its own kind */
#else
#define FAULTS 1 /* scripts/model-check sees two of them without messages, one with */
#endif
#endif
#define N 3 /* 0 and 1 begin with these ranks, 2 stands by */
#define NOBODY 255
#define STANDBY 2
#define OUT 3
#define server(p) ((p) == 0 -> 0 : 1)

mtype = { running, waiting, sealing, resuming };
mtype = { nothing, ask_acknowledge, ask_resumed, ask_join };
mtype = { none, on_its_way, done, refused };

typedef Group {
  bool stale;   /* of a copy: the row has been changed since it was read */
  byte term;
  mtype state;
  byte place[N]; /* 0, 1, STANDBY, OUT */
  bool acknowledged[N];
  bool carried_out[N];
#ifdef COMPARES_TERM_ONLY
  byte term_read
#endif
}

/* --- the world -------------------------------------------------------------------------------------- */
bool crashed[N];
bool cut[2];      /* the server, from etcd and the other one */
Group etcd;
bool present[2];  /* the server's key */

/* --- the coordinators --------------------------------------------------------------------------------- */
bool down[2];
Group told[2];    /* the group as its members are told it */
bool unsure[2];   /* gave up waiting: reads before it changes anything */
mtype change[2] = none;
Group draft[2];
byte absent[2] = NOBODY; /* the server whose key the change wants not to be there */
byte asker[2] = NOBODY;  /* the member that it answers */
Group late;       /* a change that nobody waits for any more */
bool has_late;
byte late_absent;
byte late_from;

/* --- the members ---------------------------------------------------------------------------------------- */
mtype request[N] = nothing;
byte request_term[N];
byte member_term[N]; /* the newest that it has acknowledged */
byte member_place[N];
byte acts_in[N];     /* the term in which it was told that the group runs; 0: none */
byte sends = 0;
bool under_way = false; /* a message from the first stage to the second */
byte under_way_term;
byte under_way_from;
bool joined = false; /* who was taken for gone comes back; once is enough */

/* --- ghosts --------------------------------------------------------------------------------------------- */
byte holder[20] = NOBODY; /* 2 x term + rank */
bool unheard[N];          /* died while its server was cut off */

#define withdraw(p) request[p] = nothing; request_term[p] = 0

#define ranked(g, p) (g.place[p] < 2)
#define has(g, r) (g.place[0] == r || g.place[1] == r || g.place[2] == r)
#define whole(g) (has(g, 0) && has(g, 1))
#define all_have(g, what) ((!ranked(g, 0) || g.what[0]) && (!ranked(g, 1) || g.what[1]) && \
                           (!ranked(g, 2) || g.what[2]))
#define hopeless (!whole(etcd) && etcd.place[0] != STANDBY && etcd.place[1] != STANDBY && \
                  etcd.place[2] != STANDBY)

inline copy(from, to) {
  to.stale = from.stale; to.term = from.term; to.state = from.state;
  to.place[0] = from.place[0]; to.place[1] = from.place[1]; to.place[2] = from.place[2];
  to.acknowledged[0] = from.acknowledged[0]; to.acknowledged[1] = from.acknowledged[1];
  to.acknowledged[2] = from.acknowledged[2];
  to.carried_out[0] = from.carried_out[0]; to.carried_out[1] = from.carried_out[1];
  to.carried_out[2] = from.carried_out[2]
#ifdef COMPARES_TERM_ONLY
  ; to.term_read = from.term_read
#endif
}
inline forget(g) {
  g.stale = false; g.term = 0; g.state = waiting;
  g.place[0] = OUT; g.place[1] = OUT; g.place[2] = OUT; forget_all(g)
}
inline forget_all(g) {
  g.acknowledged[0] = false; g.acknowledged[1] = false; g.acknowledged[2] = false;
  g.carried_out[0] = false; g.carried_out[1] = false; g.carried_out[2] = false
}

/* --- the book, on a draft --------------------------------------------------------------------------------- */
inline seat(g, r) {
  if
  :: has(g, r) -> skip
  :: !has(g, r) && g.place[0] == STANDBY -> g.place[0] = r
  :: !has(g, r) && g.place[0] != STANDBY && g.place[1] == STANDBY -> g.place[1] = r
  :: !has(g, r) && g.place[0] != STANDBY && g.place[1] != STANDBY && g.place[2] == STANDBY -> g.place[2] = r
  :: else -> skip
  fi
}
inline settle(g) {
  seat(g, 0); seat(g, 1);
  if
  :: !whole(g) -> g.state = waiting
  :: else ->
     if
#ifdef RUNS_BEFORE_ALL
     :: g.acknowledged[0] || g.acknowledged[1] || g.acknowledged[2] -> g.state = running
#endif
     :: all_have(g, acknowledged) && all_have(g, carried_out) -> g.state = running
     :: all_have(g, acknowledged) && !all_have(g, carried_out) -> g.state = resuming
     :: else -> g.state = sealing
     fi
  fi
}
inline next_term(g) { g.term++; forget_all(g) }
#ifdef TERM_KEPT_WHEN_GONE
#define next_gone(g) forget_all(g)
#else
#define next_gone(g) next_term(g)
#endif
inline server_gone(g, s) {
  if
  :: s == 0 ->
     if :: ranked(g, 0) -> g.place[0] = OUT; next_gone(g) :: else -> g.place[0] = OUT fi
  :: else ->
     if
     :: ranked(g, 1) || ranked(g, 2) -> g.place[1] = OUT; g.place[2] = OUT; next_gone(g)
     :: else -> g.place[1] = OUT; g.place[2] = OUT
     fi
  fi;
  settle(g)
}

/* --- etcd -------------------------------------------------------------------------------------------------- */
#ifdef COMPARES_NOTHING
#define as_read(d) true
#else
#ifdef COMPARES_TERM_ONLY
#define as_read(d) (d.term_read == etcd.term)
#else
#define as_read(d) (!d.stale)
#endif
#endif
#ifdef KEY_NOT_COMPARED
#define key_as_wanted(s) true
#else
#define key_as_wanted(s) (s == NOBODY || !present[s])
#endif
#define replaced(d, p) (etcd.place[p] != OUT && d.place[p] == OUT)
#define may_be_replaced(d, p) (!replaced(d, p) || crashed[p] || !present[server(p)])

/* What a change says, if it compares well. */
inline land(d, s, outcome) {
  if
  :: as_read(d) && key_as_wanted(s) ->
     assert(may_be_replaced(d, 0) && may_be_replaced(d, 1) && may_be_replaced(d, 2));
     assert(d.term >= etcd.term);
     assert(d.term > etcd.term || etcd.state != running || d.state == running);
     assert(d.term > etcd.term || etcd.state != resuming || d.state == resuming || d.state == running);
     copy(d, etcd); etcd.stale = false;
     told[0].stale = true; told[1].stale = true; late.stale = has_late;
     draft[0].stale = (change[0] != none); draft[1].stale = (change[1] != none);
     d.stale = false;
     outcome = done
  :: else -> outcome = refused
  fi
}

/* --- a coordinator -------------------------------------------------------------------------------------------- */
#define reaches(c) (!down[c] && !cut[c])
#define known(c) (told[c].term != 0)
#define may_change(c) (!down[c] && change[c] == none && !unsure[c] && known(c))

inline send(c) {
  change[c] = on_its_way
#ifdef COMPARES_TERM_ONLY
  ; draft[c].term_read = told[c].term
#endif
#ifdef TOLD_BEFORE_WRITTEN
  ; tell(c)
#endif
}
inline tell(c) { copy(draft[c], told[c]) }
inline answered(c) {
  if :: asker[c] != NOBODY -> withdraw(asker[c]) :: else -> skip fi;
  asker[c] = NOBODY; absent[c] = NOBODY; change[c] = none; forget(draft[c])
}
/* The change is left to itself. */
inline leave(c) {
  if
  :: change[c] == on_its_way && !has_late ->
     has_late = true; copy(draft[c], late); late_absent = absent[c]; late_from = c
  :: else -> skip /* it is lost, or its answer is */
  fi;
  if :: asker[c] != NOBODY -> lose(asker[c]) :: else -> skip fi;
  answered(c)
}
/* Nobody has heard what it asks for; it may ask again. */
inline lose(p) {
  if :: request[p] == ask_join -> joined = false :: else -> skip fi;
  withdraw(p)
}

#ifdef DEATH_MEANWHILE_LOST
#define dead(p) (crashed[p] && !unheard[p])
#else
#define dead(p) crashed[p]
#endif

/* What it hears of its own clients. */
#define FOR_EACH(p) \
  :: atomic { server(p) == c && may_change(c) && dead(p) && told[c].place[p] != OUT -> \
       copy(told[c], draft[c]); \
       if \
       :: ranked(draft[c], p) -> draft[c].place[p] = OUT; next_term(draft[c]); settle(draft[c]) \
       :: else -> draft[c].place[p] = OUT \
       fi; \
       send(c) } \
  :: atomic { server(p) == c && may_change(c) && request[p] == ask_acknowledge -> \
       if \
       :: request_term[p] == told[c].term && ranked(told[c], p) && told[c].state != running && \
          !told[c].acknowledged[p] -> \
          copy(told[c], draft[c]); draft[c].acknowledged[p] = true; settle(draft[c]); \
          asker[c] = p; send(c) \
       :: else -> withdraw(p) \
       fi } \
  :: atomic { server(p) == c && may_change(c) && request[p] == ask_resumed -> \
       if \
       :: request_term[p] == told[c].term && ranked(told[c], p) && told[c].state == resuming -> \
          copy(told[c], draft[c]); draft[c].carried_out[p] = true; settle(draft[c]); \
          asker[c] = p; send(c) \
       :: else -> withdraw(p) \
       fi } \
  :: atomic { server(p) == c && may_change(c) && request[p] == ask_join -> \
       if \
       :: told[c].place[p] == OUT -> \
          copy(told[c], draft[c]); draft[c].place[p] = STANDBY; \
          if :: draft[c].state == waiting -> settle(draft[c]) :: else -> skip fi; \
          asker[c] = p; send(c) \
       :: else -> withdraw(p) \
       fi }

#define is_of(s, p) (server(p) == s && told[c].place[p] != OUT)

proctype Coordinator(byte c) {
end:
  do
  :: atomic { reaches(c) && change[c] == none && (told[c].stale || unsure[c] || !known(c)) ->
       copy(etcd, told[c]); unsure[c] = false }
  :: atomic { reaches(c) && !present[c] -> present[c] = true }
  FOR_EACH(0)
  FOR_EACH(1)
  FOR_EACH(2)
  /* The other server's key has run out. */
  :: atomic { reaches(c) && may_change(c) && !present[1 - c] &&
              (is_of(1 - c, 0) || is_of(1 - c, 1) || is_of(1 - c, 2)) ->
       copy(told[c], draft[c]); server_gone(draft[c], 1 - c); absent[c] = 1 - c; send(c) }
  :: atomic { !cut[c] && change[c] == on_its_way -> land(draft[c], absent[c], change[c]) }
  :: atomic { reaches(c) && change[c] == done -> tell(c); answered(c) }
  :: atomic { reaches(c) && change[c] == refused ->
#ifdef OVERTAKEN_IS_DONE
       tell(c);
#else
       unsure[c] = true;
#endif
       answered(c) }
  :: atomic { !down[c] && cut[c] && change[c] != none -> /* gives up waiting */
#ifdef UNSURE_IS_DONE
       tell(c);
#else
       unsure[c] = true;
#endif
       leave(c) }
#ifdef PLAN_MADE_ANEW
  :: atomic { may_change(c) && told[c].state == resuming ->
       copy(told[c], draft[c]); draft[c].carried_out[0] = false; draft[c].carried_out[1] = false;
       draft[c].carried_out[2] = false; send(c) }
#endif
  :: atomic { down[c] -> down[c] = false } /* started again; it reads */
  od
}

mtype unread = none; /* its answer */

active proctype Network() {
end:
  do
  :: atomic { has_late && !cut[late_from] ->
       land(late, late_absent, unread);
       unread = none; has_late = false; late_absent = 0; late_from = 0; forget(late) }
  od
}

/* --- a member ------------------------------------------------------------------------------------------------- */
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
/* All members of a term have acknowledged it, unless they have died since. */
#define knows(t, r) (holder[2 * (t) + (r)] != NOBODY)
#define group told[server(p)]
#define hears(p) (!crashed[p] && !down[server(p)] && known(server(p)))

proctype Member(byte p) {
end:
  do
  :: atomic { hears(p) && group.place[p] == OUT && request[p] == nothing && !joined ->
       joined = true; acts_in[p] = 0; request[p] = ask_join }
  :: atomic { hears(p) && ranked(group, p) && group.state != running && group.state != resuming &&
              !group.acknowledged[p] && request[p] == nothing ->
       assert(group.term >= member_term[p]);                   /* terms never go back */
       assert(holder[2 * group.term + group.place[p]] == NOBODY ||
              holder[2 * group.term + group.place[p]] == p);
       holder[2 * group.term + group.place[p]] = p;
       member_term[p] = group.term; member_place[p] = group.place[p];
       seal(p);
       request[p] = ask_acknowledge; request_term[p] = group.term }
  :: atomic { hears(p) && ranked(group, p) && group.state == resuming && !group.carried_out[p] &&
              member_term[p] == group.term && request[p] == nothing ->
       request[p] = ask_resumed; request_term[p] = group.term }
  :: atomic { hears(p) && ranked(group, p) && group.state == running && acts_in[p] < group.term &&
              member_term[p] == group.term -> acts_in[p] = group.term }
  /* The first stage sends, the second takes, as soon as the network lets it. */
  :: atomic { !crashed[p] && acts_in[p] != 0 && member_place[p] == 0 && !under_way && sends < SENDS ->
       assert(acts_in[p] >= member_term[p]);
       assert(knows(acts_in[p], 0) && knows(acts_in[p], 1));
       sends++; under_way = true; under_way_term = acts_in[p]; under_way_from = server(p) }
  :: atomic { !crashed[p] && under_way && member_place[p] == 1 && member_term[p] != 0 &&
              (under_way_from == server(p) || (!cut[0] && !cut[1])) ->
       under_way = false;
       if
       :: fenced(p) ->
          assert(under_way_term >= member_term[p]);
          assert(knows(under_way_term, 0) && knows(under_way_term, 1))
       :: else -> skip /* refused */
       fi;
       under_way_term = 0; under_way_from = 0 }
  od
}

/* --- faults ----------------------------------------------------------------------------------------------------- */
byte faults = 0;
bool has_died = false;
bool has_cut = false;
bool has_crashed = false;
#define may_fail(already) (!already && faults < FAULTS)

inline die(p) {
  crashed[p] = true; has_died = true; faults++; withdraw(p);
#ifdef DEATH_MEANWHILE_LOST
  unheard[p] = cut[server(p)]
#endif
}
inline cut_off(s) { has_cut = true; faults++; cut[s] = true }
inline crash(c) {
  has_crashed = true; faults++; leave(c); down[c] = true; unsure[c] = false; forget(told[c]);
  if
  :: c == 0 -> lose(0)
  :: else -> lose(1); lose(2)
  fi
}

active proctype Fault() {
end:
  do
  :: atomic { may_fail(has_died) -> die(0) }
  :: atomic { may_fail(has_died) -> die(1) }
  :: atomic { may_fail(has_died) -> die(2) }
  :: atomic { may_fail(has_cut) -> cut_off(0) }
  :: atomic { may_fail(has_cut) -> cut_off(1) }
  :: atomic { present[0] && (cut[0] || down[0]) -> present[0] = false } /* its key has run out */
  :: atomic { present[1] && (cut[1] || down[1]) -> present[1] = false }
  :: atomic { may_fail(has_crashed) -> crash(0) }
  :: atomic { may_fail(has_crashed) -> crash(1) }
  :: atomic { cut[0] -> cut[0] = false }
  :: atomic { cut[1] -> cut[1] = false }
  :: break
  od;
  atomic { cut[0] = false; cut[1] = false } /* ends at some time */
}

/* Nothing is stuck: looked at where no process has a step left. */
#define acts(p) (!ranked(etcd, p) || (!crashed[p] && acts_in[p] == etcd.term))
active proctype Watchdog() {
  timeout ->
  assert(!down[0] && !down[1] && present[0] && present[1]);
  assert(!told[0].stale && !told[1].stale);
  assert(hopeless || (etcd.state == running && acts(0) && acts(1) && acts(2)))
}

init {
  atomic {
    etcd.term = 1; etcd.state = running;
    etcd.place[0] = 0; etcd.place[1] = 1; etcd.place[2] = STANDBY;
    etcd.acknowledged[0] = true; etcd.acknowledged[1] = true;
    etcd.carried_out[0] = true; etcd.carried_out[1] = true;
    copy(etcd, told[0]); copy(etcd, told[1]);
    forget(draft[0]); forget(draft[1]); forget(late);
    present[0] = true; present[1] = true;
    member_place[0] = 0; member_place[1] = 1; member_place[2] = STANDBY;
    member_term[0] = 1; member_term[1] = 1; acts_in[0] = 1; acts_in[1] = 1;
    holder[2] = 0; holder[3] = 1;
    run Coordinator(0); run Coordinator(1); run Member(0); run Member(1); run Member(2)
  }
}

ltl recovery_ends { [] (etcd.state != running -> <> (etcd.state == running || hopeless)) }
