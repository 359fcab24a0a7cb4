/* The life of one slab, as SPIN checks it: the states of docs/internals/ledger.md and the protocol of
 * revocation between one producer (its exporter is the authority), two consumers and the
 * coordinator, with one fault: a crash of anyone at any step, or one long stop of anyone,
 * for a while or (consumers) for ever. The coordinator starts again from its store.
 *
 *   scripts/model-check     checks it, and that each of the mutations below is found
 *
 * What holds:
 *   - a slab is mapped by at most one consumer, and by none when it is home or changes hands
 *   - a generation is granted to one consumer only
 *   - nobody maps a slab with another tenant's bytes in it
 *   - every reclaim ends (LTL reclaims_end): by return, by its deadline, or with its producer
 *   - nothing is stuck: where no step is left, no message waits, no reclaim is open, and the
 *     slab is home unless a process that has stopped for ever, or crashed, keeps it
 *
 * Abstractions: time is "may happen now" (a time to live only runs out for a silent client, a
 * deadline may pass at any step); secrets are their generation; events are level-triggered, as
 * a watch with snapshots is; a call is a request, the commit, and a reply, three steps.
 *
 * A bug that leaves no process without a step, so that only the liveness check shows it:
 * DEADLINE_PUT_OFF.
 *
 * Mutations (-DNAME), each a bug that was thought of: NO_GENERATION, FREE_AT_TTL, EOF_IS_DEATH,
 * NO_RENEW_FREE, NO_DEADLINE, TRUST_STALE_ROWS, RETURN_BEFORE_UNMAP, NO_SCRUB, STALE_EVENTS.
 */

/* --- who, and the one fault ---------------------------------------------------------------- */
#ifndef ASKS
#define ASKS 1 /* leases that each consumer asks for */
#endif
#define C0 0
#define C1 1
#define PRODUCER 2
#define COORDINATOR 3
#define NOBODY 4

bool crashed[5];
bool stopped[5];
bool forever[5]; /* stopped, and never resumed */
#define up(x) (x < NOBODY && !crashed[x] && !stopped[x])

/* --- the exporter's book (in the producer; gone when it crashes) --------------------------- */
mtype = { home, free, held, scrubbing };
mtype custody = home;
byte gen = 1;
byte holder = NOBODY;
bool dirty = false;        /* a tenant's bytes are in the slab */
byte lends = 0;
byte reclaims_asked = 0;
bool wants_back = false;   /* the producer has asked for a reclaim and has not got the slab */
bool declaring = false;
bool reporting = false;    /* scrubbed, and the coordinator has not been told */
byte forgetting = 0;       /* generation of a row that should not be there; 0: none */

/* --- what the kernel knows ------------------------------------------------------------------ */
bool descriptor[2]; /* fetched from the exporter */
bool mapped[2];

/* --- the ledger: what the store keeps ------------------------------------------------------- */
mtype = { none, offered, leased, suspect, revoking, orphaned, quarantined };
mtype row = none;
byte row_gen = 0;
byte row_holder = NOBODY;
bool wanted = false;       /* by the open or ended reclaim */
bool reclaim_open = false;

/* --- the coordinator's sessions: gone with it ----------------------------------------------- */
bool down = false;         /* crashed, not yet started again */
bool joined[5];            /* C0, C1, PRODUCER */

/* --- messages --------------------------------------------------------------------------------- */
mtype = { nothing, ask_lease, ask_return, ask_offer, ask_redeclare, ask_scrubbed, ask_reclaim, ask_withdraw };
mtype request[3] = nothing;
byte request_gen[3];
bool answering[2];         /* committed, not yet answered */
byte answer[2];            /* generation granted; 0: none */
bool answered[2];
byte event_returned = 0;   /* to the producer: generation; 0: none */
byte event_dead = 0;
bool event_home = false;

/* --- ghosts ----------------------------------------------------------------------------------- */
byte granted_to[16] = NOBODY;

#define row_held (row == leased || row == suspect || row == revoking || row == orphaned)

inline unhold() { row_holder = NOBODY }

inline end_reclaim() { reclaim_open = false }

/* The row of a slab that is back with its producer. */
inline row_returned() {
  row = none; unhold();
  if :: wanted -> wanted = false; end_reclaim() :: else -> skip fi
}

/* What some mutations break. */
#ifdef NO_GENERATION
#define fits(g) true
#else
#define fits(g) (gen == g)
#endif
#ifdef STALE_EVENTS
#define concerns(g) true
#else
#define concerns(g) (g == gen)
#endif
#ifdef EOF_IS_DEATH
#define proven_dead(who) (crashed[who] || stopped[who])
#else
#define proven_dead(who) crashed[who]
#endif
#ifdef TRUST_STALE_ROWS
#define declared true
#else
#define declared (joined[PRODUCER] && !declaring)
#endif

/* --- consumers ----------------------------------------------------------------------------- */
byte knows[2];      /* generation of a grant; 0: none */
byte returning[2];  /* 1: unmapped, tell the exporter; 2: tell the coordinator */
byte asked[2];
bool waiting[2];

inline unmap(i) {
  assert(mapped[i] || descriptor[i]);
  mapped[i] = false; descriptor[i] = false
}

proctype Consumer(byte i) {
end:
  do
  /* Joins, or joins again: a sign of life, and a snapshot that tells of a grant never heard of. */
  :: atomic { up(i) && !joined[i] && !down && up(COORDINATOR) ->
       joined[i] = true; waiting[i] = false; answered[i] = false;
       if
       :: row_held && row_holder == i && knows[i] == 0 && !descriptor[i] && returning[i] == 0 ->
          knows[i] = row_gen
       :: else -> skip
       fi }
  :: atomic { up(i) && joined[i] && !waiting[i] && knows[i] == 0 && returning[i] == 0 &&
              asked[i] < ASKS && request[i] == nothing ->
       asked[i]++; waiting[i] = true; request[i] = ask_lease }
  :: atomic { up(i) && answered[i] && waiting[i] ->
       answered[i] = false; waiting[i] = false; knows[i] = answer[i] }
  /* Fetches the descriptor: the exporter decides. */
  :: atomic { up(i) && knows[i] != 0 && !descriptor[i] && returning[i] == 0 && up(PRODUCER) ->
       if
       :: custody == free && fits(knows[i]) -> custody = held; holder = i; descriptor[i] = true
       :: custody == held && holder == i && gen == knows[i] -> descriptor[i] = true
       :: else -> returning[i] = 2 /* refused: not ours any more */
       fi }
  :: atomic { up(i) && knows[i] != 0 && !descriptor[i] && returning[i] == 0 && crashed[PRODUCER] ->
       returning[i] = 2 }
  :: atomic { up(i) && descriptor[i] && !mapped[i] ->
       assert(!mapped[1 - i]);   /* no slab held twice */
       assert(!dirty);           /* no other tenant's bytes */
       assert(custody != home || crashed[PRODUCER]);
       mapped[i] = true; dirty = true }
  /* Evacuates: revoked, or its producer is gone, or it needs the slab no more. */
  :: atomic { up(i) && mapped[i] && returning[i] == 0 ->
       returning[i] = 1;
#ifndef RETURN_BEFORE_UNMAP
       unmap(i)
#endif
     }
  :: atomic { up(i) && returning[i] == 1 && (up(PRODUCER) || crashed[PRODUCER]) ->
       if
       :: !crashed[PRODUCER] && custody == held && holder == i && gen == knows[i] ->
          custody = scrubbing; holder = NOBODY
       :: else -> skip
       fi;
       returning[i] = 2 }
#ifdef RETURN_BEFORE_UNMAP
  :: atomic { up(i) && returning[i] == 2 && mapped[i] -> unmap(i) }
#endif
  :: atomic { up(i) && returning[i] == 2 && !mapped[i] && joined[i] && request[i] == nothing ->
       request[i] = ask_return; request_gen[i] = knows[i];
       knows[i] = 0; returning[i] = 0 }
  od
}

/* --- the producer ---------------------------------------------------------------------------- */
inline take_home() {
  assert(!mapped[0] && !mapped[1] && !descriptor[0] && !descriptor[1]);
  custody = home; gen++; wants_back = false; reporting = false; event_home = false
}

inline tell(what, of_gen) { request[PRODUCER] = what; request_gen[PRODUCER] = of_gen }

proctype Producer() {
end:
  do
  :: atomic { up(PRODUCER) && !joined[PRODUCER] && !down && up(COORDINATOR) ->
       joined[PRODUCER] = true;
       /* What a former life of the coordinator wrote down of this exporter ends here. */
       row = none; unhold(); wanted = false; end_reclaim();
       event_returned = 0; event_dead = 0; event_home = false; reporting = false; forgetting = 0;
#ifndef NO_RENEW_FREE
       if :: custody == free -> gen++ :: else -> skip fi;
#endif
       declaring = true }
  :: atomic { up(PRODUCER) && joined[PRODUCER] && declaring && request[PRODUCER] == nothing ->
       declaring = false;
       if
       :: custody == free -> tell(ask_offer, gen)
       :: custody == held -> tell(ask_redeclare, gen)
       :: else -> skip /* a slab in the scrubber is offered when it is clean */
       fi;
       if :: wants_back && custody == home -> wants_back = false :: else -> skip fi }
  :: atomic { up(PRODUCER) && custody == home && lends == 0 && joined[PRODUCER] && !declaring &&
              !wants_back && request[PRODUCER] == nothing ->
       lends++; dirty = false; custody = free; tell(ask_offer, gen) }
  :: atomic { up(PRODUCER) && event_returned != 0 ->
       if
       :: concerns(event_returned) && (custody == held || custody == free) ->
          custody = scrubbing; holder = NOBODY
       :: !concerns(event_returned) -> forgetting = event_returned /* a row of a slab long home */
       :: else -> skip
       fi;
       event_returned = 0 }
  :: atomic { up(PRODUCER) && forgetting != 0 && joined[PRODUCER] && !declaring &&
              request[PRODUCER] == nothing ->
       tell(ask_withdraw, forgetting); forgetting = 0;
       if :: custody == free -> reporting = true :: else -> skip fi }
  :: atomic { up(PRODUCER) && event_dead != 0 ->
       /* Told of a holder's death, the exporter waits for its own proof. */
       if :: event_dead == gen && custody == free -> custody = scrubbing :: else -> skip fi;
       event_dead = 0 }
  :: atomic { up(PRODUCER) && custody == held && proven_dead(holder) ->
       custody = scrubbing; holder = NOBODY }
  :: atomic { up(PRODUCER) && custody == scrubbing ->
#ifndef NO_SCRUB
       dirty = false;
#endif
       gen++; custody = free; reporting = true }
  :: atomic { up(PRODUCER) && reporting && joined[PRODUCER] && !declaring &&
              request[PRODUCER] == nothing ->
       reporting = false;
       if :: custody == free -> tell(ask_scrubbed, gen - 1) :: else -> skip fi }
  :: atomic { up(PRODUCER) && custody != home && !wants_back && reclaims_asked < 2 &&
              joined[PRODUCER] && !declaring && request[PRODUCER] == nothing ->
       reclaims_asked++; wants_back = true; tell(ask_reclaim, 0) }
  /* A new coordinator knows nothing of the reclaim: asked again. */
  :: atomic { up(PRODUCER) && wants_back && joined[PRODUCER] && !declaring && !reclaim_open &&
              !wanted && !event_home && !reporting && custody != home &&
              request[PRODUCER] == nothing -> tell(ask_reclaim, 0) }
  :: atomic { up(PRODUCER) && event_home ->
       event_home = false;
       if :: custody == free -> take_home() :: else -> skip fi }
  /* Nobody to ask: what the book says is free comes home. */
  :: atomic { up(PRODUCER) && wants_back && custody == free && !joined[PRODUCER] -> take_home() }
  od
}

/* --- the coordinator ------------------------------------------------------------------------- */
inline grant(i) {
  if
  :: row == offered && !reclaim_open && declared ->
     assert(granted_to[row_gen] == NOBODY || granted_to[row_gen] == i);
     granted_to[row_gen] = i;
     answer[i] = row_gen;
#ifndef TRUST_STALE_ROWS
     row = leased; row_holder = i
#endif
  :: else -> answer[i] = 0
  fi
}

inline hold_ends(by) {
  if
  :: row == orphaned -> row = none; unhold(); wanted = false
  :: row_held && row != orphaned -> row = quarantined; unhold(); by = row_gen
  :: else -> skip
  fi
}

#define handles(i) (up(COORDINATOR) && !down && joined[i])

active proctype Coordinator() {
end:
  do
  :: atomic { down && up(COORDINATOR) -> down = false } /* started again, from the store */

  :: atomic { handles(C0) && request[C0] == ask_lease && !answering[C0] ->
       request[C0] = nothing; grant(C0); answering[C0] = true }
  :: atomic { handles(C1) && request[C1] == ask_lease && !answering[C1] ->
       request[C1] = nothing; grant(C1); answering[C1] = true }
  :: atomic { up(COORDINATOR) && !down && answering[C0] ->
       answering[C0] = false; answered[C0] = true
#ifdef TRUST_STALE_ROWS /* answered before it was written */
       ; if :: answer[C0] != 0 && row == offered -> row = leased; row_holder = C0 :: else -> skip fi
#endif
     }
  :: atomic { up(COORDINATOR) && !down && answering[C1] ->
       answering[C1] = false; answered[C1] = true
#ifdef TRUST_STALE_ROWS
       ; if :: answer[C1] != 0 && row == offered -> row = leased; row_holder = C1 :: else -> skip fi
#endif
     }
  :: atomic { handles(C0) && request[C0] == ask_return ->
       request[C0] = nothing;
       if :: row_holder == C0 && row_gen == request_gen[C0] -> hold_ends(event_returned) :: else -> skip fi }
  :: atomic { handles(C1) && request[C1] == ask_return ->
       request[C1] = nothing;
       if :: row_holder == C1 && row_gen == request_gen[C1] -> hold_ends(event_returned) :: else -> skip fi }

  :: atomic { handles(PRODUCER) && request[PRODUCER] == ask_offer ->
       request[PRODUCER] = nothing;
       /* An offered row of an earlier generation is of another slab, long home. */
       if
       :: row == none || (row == offered && row_gen < request_gen[PRODUCER]) ->
          row = offered; row_gen = request_gen[PRODUCER]
       :: else -> skip
       fi }
  :: atomic { handles(PRODUCER) && request[PRODUCER] == ask_withdraw ->
       request[PRODUCER] = nothing;
       if
       :: (row == offered || row == quarantined) && row_gen == request_gen[PRODUCER] ->
          row_returned()
       :: else -> skip
       fi }
  :: atomic { handles(PRODUCER) && request[PRODUCER] == ask_redeclare ->
       request[PRODUCER] = nothing;
       /* The hold may have ended since it was said; what follows says so. */
       if
       :: row == none && request_gen[PRODUCER] == gen && holder < 2 ->
          row = suspect; row_gen = gen; row_holder = holder;
          granted_to[row_gen] = holder
       :: else -> skip
       fi }
  :: atomic { handles(PRODUCER) && request[PRODUCER] == ask_scrubbed ->
       request[PRODUCER] = nothing;
       if
       :: (row == leased || row == suspect || row == revoking || row == quarantined) &&
          row_gen == request_gen[PRODUCER] ->
          row_gen++; unhold();
          if
          :: wanted -> row_returned(); event_home = true
          :: else -> row = offered
          fi
       :: row == none -> row = offered; row_gen = request_gen[PRODUCER] + 1
       :: else -> skip
       fi }
  :: atomic { handles(PRODUCER) && request[PRODUCER] == ask_reclaim ->
       request[PRODUCER] = nothing;
       if
       :: row == offered -> row = none; event_home = true
       :: row == none -> skip
       :: row == leased -> row = revoking; wanted = true; reclaim_open = true
       :: else -> wanted = true; reclaim_open = true
       fi }

#ifdef DEADLINE_PUT_OFF
  :: atomic { up(COORDINATOR) && !down && reclaim_open -> skip }
#elif !defined(NO_DEADLINE)
  :: atomic { up(COORDINATOR) && !down && reclaim_open -> end_reclaim() } /* partially */
#endif
  :: atomic { up(COORDINATOR) && !down && (row == leased || row == revoking) &&
              (stopped[row_holder] || crashed[row_holder]) ->
#ifdef FREE_AT_TTL
       row = quarantined; event_returned = row_gen; unhold()
#else
       row = suspect
#endif
     }
  :: atomic { up(COORDINATOR) && !down && row == suspect && up(row_holder) && joined[row_holder] ->
       if :: wanted -> row = revoking :: else -> row = leased fi }
  /* Proof of death, by pidfd; of a client known from the store, too. */
  :: atomic { up(COORDINATOR) && !down && row_held && crashed[row_holder] ->
       hold_ends(event_dead) }
  :: atomic { up(COORDINATOR) && !down && crashed[PRODUCER] &&
              (row == leased || row == suspect || row == revoking) ->
       row = orphaned; wanted = false; end_reclaim() }
  :: atomic { up(COORDINATOR) && !down && crashed[PRODUCER] &&
              (row == offered || row == quarantined) -> row = none; wanted = false; end_reclaim() }
  od
}

/* --- the one fault ---------------------------------------------------------------------------- */
inline die(x) { crashed[x] = true }
inline die_consumer(i) {
  crashed[i] = true; mapped[i] = false; descriptor[i] = false; joined[i] = false /* by the kernel */
}
inline die_coordinator() {
  down = true;
  joined[C0] = false; joined[C1] = false; joined[PRODUCER] = false;
  request[C0] = nothing; request[C1] = nothing; request[PRODUCER] = nothing;
  answering[C0] = false; answering[C1] = false;
  event_returned = 0; event_dead = 0; event_home = false;
  if :: row == leased || row == revoking -> row = suspect :: else -> skip fi /* as restored */
}

active proctype Fault() {
  if
  :: atomic { true -> die_consumer(C0) }
  :: atomic { true -> die_consumer(C1) }
  :: atomic { true -> die(PRODUCER); joined[PRODUCER] = false; request[PRODUCER] = nothing }
  :: atomic { true -> die_coordinator() }
  :: atomic { true -> stopped[C0] = true }; atomic { true -> stopped[C0] = false }
  :: atomic { true -> stopped[C1] = true }; atomic { true -> stopped[C1] = false }
  :: atomic { true -> stopped[PRODUCER] = true }; atomic { true -> stopped[PRODUCER] = false }
  :: atomic { true -> stopped[COORDINATOR] = true }; atomic { true -> stopped[COORDINATOR] = false }
  :: atomic { true -> stopped[C0] = true; forever[C0] = true }
  :: atomic { true -> stopped[C1] = true; forever[C1] = true }
  :: true -> skip /* none */
  fi
}

/* Nothing is stuck: looked at where no process has a step left. */
#define kept_by(i) (forever[i] && (mapped[i] || descriptor[i]))
#define gone(i) (forever[i] || crashed[i])
active proctype Watchdog() {
  timeout ->
  assert(!reclaim_open);
  assert(!down);
  assert(gone(C0) || request[C0] == nothing);
  assert(gone(C1) || request[C1] == nothing);
  assert(crashed[PRODUCER] || request[PRODUCER] == nothing);
  assert(crashed[PRODUCER] || custody != scrubbing);
  assert(gone(C0) || (!mapped[C0] && !descriptor[C0] && knows[C0] == 0));
  assert(gone(C1) || (!mapped[C1] && !descriptor[C1] && knows[C1] == 0));
  assert(crashed[PRODUCER] || !wants_back || custody == home || kept_by(C0) || kept_by(C1) ||
         forever[C0] || forever[C1]);
  /* The ledger knows what there is. */
  assert(crashed[PRODUCER] || custody != held || (row_held && row_holder == holder));
  assert(crashed[PRODUCER] || custody != free || (row == offered && row_gen == gen) ||
         (row_held && forever[row_holder]));
  assert(!crashed[PRODUCER] || row == none || (row == orphaned && forever[row_holder]));
  assert(!(mapped[C0] && crashed[PRODUCER]) || row == orphaned);
  assert(!(mapped[C1] && crashed[PRODUCER]) || row == orphaned)
}

init { atomic { run Consumer(C0); run Consumer(C1); run Producer() } }

ltl reclaims_end { [] (reclaim_open -> <> !reclaim_open) }
