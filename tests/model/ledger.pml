/* One call in the ledger, as a model for Spin: every schedule of the processes below, with clocks that may be fast or slow by
 * any amount, answers that get lost, client libraries that repeat a write, writes that land long after anybody waited for
 * them, and processes that die.
 *
 * T-numbers are the transitions and R-numbers the rules of docs/ledger.md. Time is left out on purpose: whoever acts "when a
 * time is over" may do so at any moment, so nothing here is safe only because of a clock.
 *
 * spin_test.go chooses a configuration by definitions:
 *   UNGATED, GATED or POLICY   how the call begins (T0s, T0, T0d)
 *   APPROVALS=n                how many people have to approve (default 1)
 *   IDEMPOTENT, TASKS          the connection's effect; the remote may answer with a task of its own
 *   ANA BO DECLINER AWAIT CANCEL HUMAN SETTLES=n EXECUTORS=n    who is there
 *   FAULTS=n, CRASHES=n        how much goes wrong
 *   BROKEN_...                 a rule that is taken away: Spin must find a counterexample
 */
#ifndef APPROVALS
#define APPROVALS 1
#endif
#ifndef EXECUTORS
#define EXECUTORS 1
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#ifndef CRASHES
#define CRASHES 0
#endif
#ifndef SETTLES
#define SETTLES 2
#endif
#ifndef MAX_ATTEMPTS
#define MAX_ATTEMPTS 2
#endif

mtype = {
  none, parked, approved, started, in_doubt, completed, failed, declined, expired, cancelled, /* states */
  plain, starts, takes_over, follows, reruns, cosigns, /* what a write does besides moving the state */
  lost, won, unknown /* what its writer learns */
};

#define terminal(s) (s == completed || s == failed || s == declined || s == expired || s == cancelled)
#define unsent(s)   (s == declined || s == expired || s == cancelled)

/* The row. */
mtype state = none;
byte head = 0;          /* R2: every event gives a new one, and none comes twice */
byte attempts = 0;
byte owner = 0;
bool following = false;
byte approvals = 0;     /* a bit for each approver */

/* The world outside. */
byte next_head = 1;
byte posts = 0;         /* requests to the remote */
bool acted = false;     /* the remote acted on one of them */
byte rerun = 0;         /* "it did not run, run it", by a named person */
byte decisions = 0;     /* exits from parked */
bool told_never = false; /* somebody was told that it did not run and will not */
byte faults = FAULTS;
byte crashes = CRASHES;

/* One write that is still in the network although nobody waits for it. */
bool late = false;
mtype late_does = plain, late_from = none, late_to = none;
byte late_seen = 0, late_by = 0, late_bits = 0;

/* R1: a write names the exact history that it extends. */
#ifdef BROKEN_STATE_ONLY
#define matches(from, seen) (state == from)
#else
#define matches(from, seen) (state == from && head == seen)
#endif

inline tell_never() { told_never = true; assert(!acted) }

/* apply is what the store does with a write whose condition holds. */
inline apply(does, from, to, by, bits) {
  assert(!terminal(state)); /* nothing leaves a terminal state */
  if
  :: does == starts -> owner = by; attempts++
  :: does == takes_over -> owner = by
  :: does == follows -> following = true
  :: does == reruns -> rerun++; following = false
  :: does == cosigns -> approvals = bits
  :: else
  fi;
  if :: (from == parked && to != parked) -> decisions++; assert(decisions == 1) :: else fi;
  assert(!(unsent(to) && acted)); /* R9: what may have run is never called expired or cancelled */
  state = to; head = next_head; next_head++
}

/* write is one conditional write and how its writer learns what became of it. result: won, lost or unknown; mine: the head that
 * it left. seen_approvals is what the writer had read. */
inline write(does, from, seen, to, bits) {
  committed = false;
  atomic {
    if
    :: matches(from, seen) ->
       apply(does, from, to, me, bits); mine = head;
       if
       :: result = won
       :: faults > 0 -> faults--; committed = true /* the answer is lost */
       :: (faults > 0 && !late) -> faults--; result = won; /* and a first try is still on its way */
          late = true; late_does = does; late_from = from; late_to = to; late_seen = seen; late_by = me; late_bits = bits
       fi
    :: !matches(from, seen) -> result = lost
    :: faults > 0 -> faults--; result = unknown /* it never arrives, or arrives when nobody waits any more */
    :: (faults > 0 && !late) -> faults--; result = unknown;
       late = true; late_does = does; late_from = from; late_to = to; late_seen = seen; late_by = me; late_bits = bits
    fi
  };
  if
  :: committed -> atomic { /* the repeated write is refused, or the row is read: the own event is in it (R3, R4) */
       if
#ifdef BROKEN_OWN_EVENT
       :: result = lost
#else
#ifdef BROKEN_OVERTAKEN
       :: result = won
#else
       :: ((does == starts || does == takes_over) && !(state == started && head == mine)) -> result = lost /* L6: do not send */
       :: !((does == starts || does == takes_over) && !(state == started && head == mine)) -> result = won
#endif
#endif
       :: faults > 0 -> faults--; result = unknown
       fi;
       /* L6: who is told at this moment that it may send owns the row at this moment. */
       assert(!(result == won && (does == starts || does == takes_over)) || (state == started && head == mine)) }
  :: else
  fi
}

inline look() { atomic { seen_state = state; seen = head; seen_attempts = attempts; seen_approvals = approvals; seen_following = following } }
inline may_crash() { if :: crashes > 0 -> crashes--; goto dead :: true fi }

#define LOCALS mtype seen_state, result = lost; byte seen, seen_attempts, seen_approvals, mine; bool committed, seen_following

#ifdef BROKEN_SEND_UNKNOWN
#define may_send (result != lost)
#else
#define may_send (result == won) /* R4 */
#endif

/* post is one request that reaches the network. */
inline post() { atomic { posts++;
#ifndef IDEMPOTENT
  assert(posts <= 1 + rerun) /* at most one call for each decision */
#endif
} }
inline act() { atomic { acted = true; assert(!told_never && !unsent(state)) } }

/* record_result is T6, and T11 where the row has fallen into doubt meanwhile. */
inline record_result() {
  assert(acted);
  write(plain, started, mine, completed, 0);
  if
  :: result == lost ->
     look();
     if :: (seen_state == in_doubt && owner == me) -> write(plain, in_doubt, seen, completed, 0) :: else fi
  :: else
  fi
}

/* send_and_record is what the owner of a start does. mine is the head that its start left. */
inline send_and_record() {
  skip;
again: skip;
  may_crash();
  post();
  if
  :: act(); may_crash(); record_result() /* an answer */
#ifdef TASKS
  :: act(); may_crash(); /* T13: the answer is a task; from here on it is polled only */
     write(follows, started, mine, started, 0);
     if :: result == won -> may_crash(); record_result() :: else fi
#endif
  :: if :: act() :: true fi; /* no answer: it ran, or it did not */
     may_crash();
#ifdef BROKEN_RETRY_AMBIGUOUS
     goto again
#endif
#ifdef BROKEN_AMBIGUOUS_NOT_RUN
     write(plain, started, mine, failed, 0);
     if :: result == won -> tell_never() :: else fi
#else
#ifdef IDEMPOTENT
     if
     :: attempts < MAX_ATTEMPTS -> write(starts, started, mine, started, 0); /* T10, by the owner */
        if :: result == won -> goto again :: else fi
     :: write(plain, started, mine, in_doubt, 0)
     fi
#else
     write(plain, started, mine, in_doubt, 0) /* T8 */
#endif
#endif
  :: /* refused, or never sent. It vouches for this attempt only */
     if
     :: attempts == 1 -> write(plain, started, mine, failed, 0); /* T7 */
        if :: result == won -> tell_never() :: else fi
     :: else -> write(plain, started, mine, in_doubt, 0) /* R9 */
     fi
  fi
}

/* An ungated call: the put is the claim (T0s). */
proctype Caller(byte me) {
  LOCALS;
#ifdef BROKEN_PUT
  atomic { state = started; head = next_head; next_head++; mine = head; owner = me; attempts = 1; result = won };
#else
  write(starts, none, 0, started, 0);
#endif
  if :: may_send -> send_and_record() :: else fi;
dead: skip
}

/* A gated call (T0), or one that is left to an executor by policy (T0d). The same key again finds the row. */
proctype Parker(byte me) {
  LOCALS;
#ifdef POLICY
  write(plain, none, 0, approved, 0);
#else
  write(plain, none, 0, parked, 0);
#endif
  look();
  if :: unsent(seen_state) -> tell_never() :: else fi
}

/* T5 and what follows. Dispatch, a caller that polls and the sweep all lead here. */
proctype Executor(byte me) {
  LOCALS;
end:
  state == approved;
  look();
  if
  :: seen_state == approved ->
     write(starts, approved, seen, started, 0);
     if
     :: may_send -> send_and_record()
     :: result == lost -> assert(!(state == started && owner == me && committed && head == mine)) /* nobody else would send it */
     :: else
     fi
  :: else
  fi;
dead: skip
}

/* The page shows one history, and the decision is about that one: T1p while more people are needed, T1, T2. */
proctype Approver(byte me; bool yes) {
  LOCALS; byte bits;
end:
  state == parked;
  look();
  if
  :: seen_state == parked ->
     bits = seen_approvals | (1 << me);
#ifdef BROKEN_BLIND
     atomic { decisions++; assert(decisions == 1); head = next_head; next_head++; result = won; if :: yes -> state = approved :: else -> state = declined fi };
#else
     if
     :: !yes -> write(plain, parked, seen, declined, 0)
     :: (yes && (APPROVALS == 1 || (seen_approvals != 0 && seen_approvals != (1 << me)))) -> write(cosigns, parked, seen, approved, bits)
     :: (yes && APPROVALS == 2 && seen_approvals == 0) -> write(cosigns, parked, seen, parked, bits)
     :: else -> result = unknown /* the same person again: it counts once */
     fi;
#endif
     if
     :: (result == won && !yes) -> tell_never()
     :: (result == won && yes) -> assert(APPROVALS == 1 || (approvals & (1 << me))) /* "your approval is counted" */
     :: result == lost -> assert(!committed) /* "somebody else decided" */
     :: else
     fi
  :: else
  fi
}

/* A caller that polls. Its clock may say that the time is over: T3. */
proctype Awaiter(byte me) {
  LOCALS; byte polls = 0;
  do
  :: polls < 2 ->
     polls++;
     look();
     if
     :: seen_state == parked ->
#ifdef BROKEN_TELL_BY_CLOCK
        tell_never() /* R10 */
#else
        write(plain, parked, seen, expired, 0);
        if :: result == won -> tell_never() :: else fi
#endif
     :: unsent(seen_state) -> tell_never()
     :: else
     fi
  :: break
  od
}

/* T4: only while it was never started. */
proctype Canceller(byte me) {
  LOCALS;
end:
  (state == parked || state == approved);
  look();
  if
  :: seen_state == parked -> write(plain, parked, seen, cancelled, 0)
#ifdef BROKEN_CANCEL_A_DOUBT
  :: seen_state == approved -> write(plain, approved, seen, cancelled, 0)
#else
  :: (seen_state == approved && seen_attempts == 0) -> write(plain, approved, seen, cancelled, 0)
#endif
  :: else -> result = lost
  fi;
  if :: result == won -> tell_never() :: else fi
}

/* T12: the person who is asked about a doubt, and who may be wrong. */
proctype Human(byte me) {
  LOCALS; byte n = 0;
end:
  do
  :: (state == in_doubt && n < SETTLES) ->
     n++;
     look();
     if
     :: seen_state == in_doubt ->
        if
        :: rerun == 0 -> write(reruns, in_doubt, seen, approved, 0)
        :: write(plain, in_doubt, seen, completed, 0)
        :: write(plain, in_doubt, seen, failed, 0)
        fi
     :: else
     fi
  od
}

/* T3, T5x, T9, T10 and the taking over of T13: whoever finds that nobody goes on. There is always a next one. */
proctype Sweeper(byte me) {
  LOCALS;
dead: skip; /* one that dies while it runs a call is followed by the next */
end:
  do
  :: (state == parked || state == approved || state == started) ->
     look();
     if
     :: seen_state == parked ->
        write(plain, parked, seen, expired, 0);
        if :: result == won -> tell_never() :: else fi
#ifdef BROKEN_EXPIRE_A_DOUBT
     :: seen_state == approved ->
#else
     :: (seen_state == approved && seen_attempts > 0) -> write(plain, approved, seen, in_doubt, 0) /* R9 */
     :: (seen_state == approved && seen_attempts == 0) ->
#endif
        write(plain, approved, seen, expired, 0);
        if :: result == won -> tell_never() :: else fi
     :: (seen_state == started && seen_following) ->
        write(takes_over, started, seen, started, 0);
        if
        :: result == won ->
#ifdef BROKEN_POLL_SENDS
           post(); act();
#endif
           if :: record_result() :: write(plain, started, mine, in_doubt, 0) fi
        :: else
        fi
#ifdef IDEMPOTENT
     :: (seen_state == started && !seen_following && seen_attempts < MAX_ATTEMPTS) ->
        write(starts, started, seen, started, 0);
        if :: may_send -> send_and_record() :: else fi
#endif
#ifdef BROKEN_SWEEP_RESTARTS
     :: (seen_state == started && !seen_following) -> write(plain, started, seen, approved, 0)
#else
     :: (seen_state == started && !seen_following) -> write(plain, started, seen, in_doubt, 0) /* T9 */
#endif
     :: else
     fi
  od
}

/* The network delivers a late write at any moment; it counts only if its condition holds then. */
proctype Network() {
end:
  do
  :: atomic { late ->
       if
       :: matches(late_from, late_seen) -> apply(late_does, late_from, late_to, late_by, late_bits)
       :: else
       fi;
       late = false; late_does = plain; late_from = none; late_to = none; late_seen = 0; late_by = 0; late_bits = 0 }
  od
}

/* Nothing strands: when nobody can do anything any more, the call has ended, or a person is asked. */
proctype Watch() {
end:
  timeout -> assert(terminal(state) || state == in_doubt || state == none)
}

init {
  atomic {
#ifdef UNGATED
    run Caller(1); run Caller(2);
#ifdef HUMAN
    run Executor(6);
#endif
#else
    run Parker(1);
#ifdef TWIN
    run Parker(2);
#endif
#ifdef ANA
    run Approver(3, true);
#endif
#ifdef BO
    run Approver(4, true);
#endif
#ifdef DECLINER
    run Approver(5, false);
#endif
    run Executor(6);
#if EXECUTORS > 1
    run Executor(7);
#endif
#endif
#ifdef AWAIT
    run Awaiter(8);
#endif
#ifdef CANCEL
    run Canceller(9);
#endif
#ifdef HUMAN
    run Human(10);
#endif
    run Sweeper(11); run Network(); run Watch()
  }
}
