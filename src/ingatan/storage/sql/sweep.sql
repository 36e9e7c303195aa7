-- name: sweep.lead
-- Lead a periodic job until the lease runs out: one row if nobody else does, none otherwise.
insert into leases (name, holder, lease_until)
values (%(name)s, %(holder)s, now() + make_interval(secs => %(lease_seconds)s))
on conflict (name) do update set holder = excluded.holder, lease_until = excluded.lease_until
where leases.lease_until < now() or leases.holder = excluded.holder
returning holder;

-- name: sweep.resign
-- Stop leading.
delete from leases where name = %(name)s and holder = %(holder)s;

-- name: sweep.due
-- Ended conversations with something new, fewest failures first (an always-failing one cannot block the others).
select tenant_id, conversation_id, subject_id
from sweep_state
where lane = %(lane)s and last_seq > done_seq and last_received_at <= %(idle_before)s
  and last_received_at >= %(active_after)s and (lease_until is null or lease_until < now())
  and (%(subjects)s::uuid[] is null or subject_id = any(%(subjects)s))
order by attempts, last_received_at, conversation_id limit %(limit)s;

-- name: sweep.claim
-- Take one conversation: lease and a higher fence, if it is still due and free. One row or none.
update sweep_state
set lease_until = now() + make_interval(secs => %(lease_seconds)s), fence = fence + 1
where tenant_id = %(tenant_id)s and conversation_id = %(conversation_id)s and lane = %(lane)s
  and last_seq > done_seq and last_received_at <= %(idle_before)s and (lease_until is null or lease_until < now())
returning done_seq, last_seq, attempts, fence;

-- name: sweep.release
-- Give a claim back untouched; only its holder can.
update sweep_state set lease_until = null
where tenant_id = %(tenant_id)s and conversation_id = %(conversation_id)s and lane = %(lane)s and fence = %(fence)s;

-- name: sweep.turns
-- New turns of a span that are on the record, in order.
select m.id, m.seq, m.role, m.author_id, m.content, m.created_at, m.received_at
from messages m join conversations c on c.tenant_id = m.tenant_id and c.id = m.conversation_id
where m.tenant_id = %(tenant_id)s and m.conversation_id = %(conversation_id)s
  and m.seq > %(done_seq)s and m.seq <= %(to_seq)s and not m.off_record and c.hidden_at is null
order by m.seq;

-- name: sweep.recent_turns
-- The person's own earlier turns within the lookback that are on the record, newest first, bounded.
select m.id, m.seq, m.role, m.author_id, m.content, m.created_at, m.received_at
from messages m join conversations c on c.tenant_id = m.tenant_id and c.id = m.conversation_id
where m.tenant_id = %(tenant_id)s and m.author_id = %(subject_id)s and m.role = 'user' and not m.off_record
  and c.hidden_at is null and m.received_at >= %(active_after)s
  and not (m.conversation_id = %(conversation_id)s and m.seq > %(done_seq)s)
order by m.received_at desc, m.seq desc limit %(limit)s;

-- name: sweep.present
-- How many of the cited turns still stand in a visible conversation.
select count(*) as n
from messages m join conversations c on c.tenant_id = m.tenant_id and c.id = m.conversation_id
where m.tenant_id = %(tenant_id)s and m.id = any(%(ids)s) and c.hidden_at is null;

-- name: sweep.finish
-- Move the watermark; only the holder of the newest fence can. One row or none.
update sweep_state set done_seq = %(to_seq)s, attempts = 0, lease_until = null
where tenant_id = %(tenant_id)s and conversation_id = %(conversation_id)s and lane = %(lane)s and fence = %(fence)s
  and done_seq = %(done_seq)s;

-- name: sweep.fail
-- Count a failed attempt and give the claim back; the watermark stays.
update sweep_state set attempts = attempts + 1, lease_until = null
where tenant_id = %(tenant_id)s and conversation_id = %(conversation_id)s and lane = %(lane)s and fence = %(fence)s;

-- name: sweep.abandon
-- List a span that will not be tried again by itself.
insert into sweep_abandoned (tenant_id, conversation_id, lane, from_seq, to_seq, reason)
values (%(tenant_id)s, %(conversation_id)s, %(lane)s, %(from_seq)s, %(to_seq)s, %(reason)s)
on conflict (tenant_id, conversation_id, lane, from_seq) do update
set to_seq = excluded.to_seq, reason = excluded.reason, at = now();

-- name: sweep.list_abandoned
-- Abandoned spans of all tenants, newest first (content-free).
select tenant_id, conversation_id, lane, from_seq, to_seq, reason, at
from sweep_abandoned order by at desc, conversation_id, from_seq limit %(limit)s;

-- name: sweep.requeue
-- Let an abandoned span be read again: it is due once the idle time has passed from now.
update sweep_state s
set done_seq = least(s.done_seq, a.from_seq), attempts = 0, last_received_at = now(), fence = s.fence + 1
from sweep_abandoned a
where s.conversation_id = %(conversation_id)s and a.tenant_id = s.tenant_id
  and a.conversation_id = s.conversation_id and a.lane = s.lane;

-- name: sweep.forget_abandoned
-- The list without the spans of a conversation that was queued again.
delete from sweep_abandoned where conversation_id = %(conversation_id)s;

-- name: sweep.publish
-- S1's two keys in the conversation's metadata: copies for administrators, never read back.
update conversations
set metadata = metadata || jsonb_strip_nulls(jsonb_build_object(%(through_key)s::text, %(through)s::text,
                                                                %(failures_key)s::text, %(failures)s::integer))
where tenant_id = %(tenant_id)s and id = %(conversation_id)s;

-- name: sweep.skip_pending
-- After an erasure: what was said before it is not learned from any more. A null conversation means all of the person's.
update sweep_state set done_seq = last_seq, attempts = 0, lease_until = null, fence = fence + 1
where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s
  and (%(conversation_id)s::uuid is null or conversation_id = %(conversation_id)s);

-- name: sweep.forget_abandoned_of
-- After an erasure: abandoned spans of the person's conversations cannot be queued again. A null conversation means all.
delete from sweep_abandoned a using conversations c
where a.tenant_id = %(tenant_id)s and c.tenant_id = a.tenant_id and c.id = a.conversation_id
  and c.user_id = %(subject_id)s and (%(conversation_id)s::uuid is null or a.conversation_id = %(conversation_id)s);

-- name: sweep.tenants
-- All tenants, for jobs that then enter one at a time.
select id from tenants order by id;

-- name: sweep.next_idle
-- The earliest moment at which one of the caller's conversations can count as ended, or null.
select min(last_received_at) as earliest
from sweep_state
where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s and lane = %(lane)s and last_seq > done_seq;

-- name: sweep.cited_turns
-- Turns by their ids that stand in this visible conversation of the caller and are on the record.
select m.id, m.seq, m.role, m.author_id, m.content, m.created_at, m.received_at
from messages m join conversations c on c.tenant_id = m.tenant_id and c.id = m.conversation_id
where m.tenant_id = %(tenant_id)s and m.conversation_id = %(conversation_id)s and m.id = any(%(ids)s)
  and not m.off_record and c.hidden_at is null;
