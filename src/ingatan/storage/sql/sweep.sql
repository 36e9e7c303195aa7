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
-- Ended conversations with something new, fewest failures first (an always-failing one cannot block the others); with
-- an allowlist only those in which someone on it asked since. With who asked since, in id order.
select s.tenant_id, s.conversation_id, s.subject_id as keeper_id,
       array(select a.subject_id from conversation_askers a
             where a.tenant_id = s.tenant_id and a.conversation_id = s.conversation_id and a.last_seq > s.done_seq
             order by a.subject_id) as askers
from sweep_state s
where s.lane = %(lane)s and s.last_seq > s.done_seq and s.last_received_at <= %(idle_before)s
  and s.last_received_at >= %(active_after)s and (s.lease_until is null or s.lease_until < now())
  and (%(subjects)s::uuid[] is null or exists (
      select from conversation_askers a
      where a.tenant_id = s.tenant_id and a.conversation_id = s.conversation_id and a.last_seq > s.done_seq
        and a.subject_id = any(%(subjects)s)))
order by s.attempts, s.last_received_at, s.conversation_id limit %(limit)s;

-- name: sweep.askers
-- Where a conversation's span stands in a lane, whether it is shared, and who asked in the span, in id order.
select s.done_seq, s.last_seq, n.shared,
       array(select a.subject_id from conversation_askers a
             where a.tenant_id = s.tenant_id and a.conversation_id = s.conversation_id
               and a.last_seq > s.done_seq and a.last_seq > a.skip_seq
             order by a.subject_id) as askers
from sweep_state s
join conversation_sharing n on n.tenant_id = s.tenant_id and n.conversation_id = s.conversation_id
where s.tenant_id = %(tenant_id)s and s.conversation_id = %(conversation_id)s and s.lane = %(lane)s;

-- name: sweep.claim
-- Take one conversation: lease and a higher fence, if it is still due and free, with the span that was seen. One row or
-- none.
update sweep_state
set lease_until = now() + make_interval(secs => %(lease_seconds)s), fence = fence + 1
where tenant_id = %(tenant_id)s and conversation_id = %(conversation_id)s and lane = %(lane)s
  and done_seq = %(done_seq)s and last_seq = %(last_seq)s and last_seq > done_seq
  and last_received_at <= %(idle_before)s and (lease_until is null or lease_until < now())
returning done_seq, last_seq, attempts, fence;

-- name: sweep.release
-- Give a claim back untouched; only its holder can.
update sweep_state set lease_until = null
where tenant_id = %(tenant_id)s and conversation_id = %(conversation_id)s and lane = %(lane)s and fence = %(fence)s;

-- name: sweep.turns
-- New turns of a span for one asker that are on the record and not skipped, in order: their own, and the replies to
-- them. Never what another person asked, nor what they were answered.
select m.id, m.seq, m.role, m.author_id, m.content, m.created_at, m.received_at
from messages m
join conversations c on c.tenant_id = m.tenant_id and c.id = m.conversation_id
left join conversation_askers a
    on a.tenant_id = m.tenant_id and a.conversation_id = m.conversation_id and a.subject_id = %(subject_id)s
where m.tenant_id = %(tenant_id)s and m.conversation_id = %(conversation_id)s
  and m.seq > %(done_seq)s and m.seq <= %(to_seq)s and m.seq > coalesce(a.skip_seq, 0)
  and not m.off_record and c.hidden_at is null
  and (m.author_id = %(subject_id)s or (m.role <> 'user' and (
      c.workspace_id is null or %(subject_id)s = (
          select p.author_id from messages p
          where p.tenant_id = m.tenant_id and p.conversation_id = m.conversation_id and p.seq < m.seq
            and p.role = 'user'
          order by p.seq desc limit 1))))
order by m.seq;

-- name: sweep.recent_turns
-- The person's own earlier turns within the lookback that are on the record and not skipped, newest first, bounded; those
-- in shared conversations only if they count.
select m.id, m.seq, m.role, m.author_id, m.content, m.created_at, m.received_at
from messages m
join conversations c on c.tenant_id = m.tenant_id and c.id = m.conversation_id
left join conversation_askers a
    on a.tenant_id = m.tenant_id and a.conversation_id = m.conversation_id and a.subject_id = m.author_id
where m.tenant_id = %(tenant_id)s and m.author_id = %(subject_id)s and m.role = 'user' and not m.off_record
  and c.hidden_at is null and m.received_at >= %(active_after)s and m.seq > coalesce(a.skip_seq, 0)
  and (%(with_shared)s or c.workspace_id is null or exists (
      select from conversation_sharing s
      where s.tenant_id = c.tenant_id and s.conversation_id = c.id and not s.shared))
  and not (m.conversation_id = %(conversation_id)s and m.seq > %(done_seq)s)
order by m.received_at desc, m.seq desc limit %(limit)s;

-- name: sweep.present
-- How many of the cited turns still stand in a visible conversation; those in shared ones only if they count.
select count(*) as n
from messages m join conversations c on c.tenant_id = m.tenant_id and c.id = m.conversation_id
where m.tenant_id = %(tenant_id)s and m.id = any(%(ids)s) and c.hidden_at is null
  and (%(with_shared)s or c.workspace_id is null or exists (
      select from conversation_sharing s
      where s.tenant_id = c.tenant_id and s.conversation_id = c.id and not s.shared));

-- name: sweep.written_from
-- How many memories of these types these turns have given the person already: the other lane may have read them first.
select count(distinct m.id)::integer as n
from memories m
join memory_evidence e on e.tenant_id = m.tenant_id and e.memory_id = m.id and e.version = m.version
where m.tenant_id = %(tenant_id)s and m.scope = 'user' and m.scope_id = %(subject_id)s and m.version = 1
  and m.type = any(%(types)s) and e.message_id = any(%(ids)s);

-- name: sweep.finish
-- Move the watermark; only the holder of the newest fence can. One row or none.
update sweep_state set done_seq = %(to_seq)s, attempts = 0, lease_until = null
where tenant_id = %(tenant_id)s and conversation_id = %(conversation_id)s and lane = %(lane)s and fence = %(fence)s
  and done_seq = %(done_seq)s;

-- name: sweep.newest
-- The newest time at which something of a span was said, whoever said it; null for an empty span.
select max(created_at) as said_at from messages
where tenant_id = %(tenant_id)s and conversation_id = %(conversation_id)s and seq > %(done_seq)s and seq <= %(to_seq)s;

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
-- Abandoned spans of all tenants, or of one conversation, newest first (content-free).
select tenant_id, conversation_id, lane, from_seq, to_seq, reason, at
from sweep_abandoned
where %(conversation_id)s::uuid is null or conversation_id = %(conversation_id)s
order by at desc, conversation_id, from_seq limit %(limit)s;

-- name: sweep.requeue
-- Let an abandoned span be read again: it is due once the idle time has passed from now.
update sweep_state s
set done_seq = least(s.done_seq, a.from_seq), attempts = 0, last_received_at = now(), fence = s.fence + 1
from (select tenant_id, conversation_id, lane, min(from_seq) as from_seq from sweep_abandoned
      where tenant_id = %(tenant_id)s and conversation_id = %(conversation_id)s
      group by tenant_id, conversation_id, lane) a
where s.tenant_id = a.tenant_id and s.conversation_id = a.conversation_id and s.lane = a.lane;

-- name: sweep.forget_abandoned
-- The list without the spans of a conversation that was queued again.
delete from sweep_abandoned where tenant_id = %(tenant_id)s and conversation_id = %(conversation_id)s;

-- name: sweep.publish
-- S1's two keys in the conversation's metadata: copies for administrators, never read back.
update conversations
set metadata = metadata || jsonb_strip_nulls(jsonb_build_object(%(through_key)s::text, %(through)s::text,
                                                                %(failures_key)s::text, %(failures)s::integer))
where tenant_id = %(tenant_id)s and id = %(conversation_id)s;

-- name: sweep.skip_pending
-- After an erasure: what the person said before it is not learned from any more, also where others own the
-- conversation or the person may not read it now. A null conversation means all.
update conversation_askers set skip_seq = last_seq
where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s
  and (%(conversation_id)s::uuid is null or conversation_id = %(conversation_id)s);

-- name: sweep.skip_conversations
-- After an erasure: conversations in which nobody else asked wait no longer. A null conversation means all. Rows are
-- locked in the order in which an append takes them.
with pending as materialized (
    select s.conversation_id, s.lane from sweep_state s
    where s.tenant_id = %(tenant_id)s and s.subject_id = %(subject_id)s
      and (%(conversation_id)s::uuid is null or s.conversation_id = %(conversation_id)s)
      and not exists (
          select from conversation_askers a
          where a.tenant_id = s.tenant_id and a.conversation_id = s.conversation_id and a.subject_id <> %(subject_id)s)
    order by s.conversation_id, s.lane
    for no key update
)
update sweep_state s set done_seq = last_seq, attempts = 0, lease_until = null, fence = fence + 1
from pending p
where s.tenant_id = %(tenant_id)s and s.conversation_id = p.conversation_id and s.lane = p.lane;

-- name: sweep.forget_abandoned_of
-- After an erasure: abandoned spans of conversations in which nobody else asked cannot be queued again. A null
-- conversation means all.
delete from sweep_abandoned a using conversations c
where a.tenant_id = %(tenant_id)s and c.tenant_id = a.tenant_id and c.id = a.conversation_id
  and c.user_id = %(subject_id)s and (%(conversation_id)s::uuid is null or a.conversation_id = %(conversation_id)s)
  and not exists (
      select from conversation_askers o
      where o.tenant_id = a.tenant_id and o.conversation_id = a.conversation_id and o.subject_id <> %(subject_id)s);

-- name: sweep.tenants
-- All tenants, for jobs that then enter one at a time.
select id from tenants order by id;

-- name: sweep.next_idle
-- The newest turn's time of the conversation that ends first of those in which the caller asked since, or null.
select min(s.last_received_at) as earliest
from conversation_askers a
join sweep_state s on s.tenant_id = a.tenant_id and s.conversation_id = a.conversation_id and s.lane = %(lane)s
where a.tenant_id = %(tenant_id)s and a.subject_id = %(subject_id)s
  and a.last_seq > s.done_seq and a.last_seq > a.skip_seq;

-- name: sweep.cited_turns
-- Turns by their ids that stand in this visible conversation of the caller and are on the record.
select m.id, m.seq, m.role, m.author_id, m.content, m.created_at, m.received_at
from messages m join conversations c on c.tenant_id = m.tenant_id and c.id = m.conversation_id
where m.tenant_id = %(tenant_id)s and m.conversation_id = %(conversation_id)s and m.id = any(%(ids)s)
  and not m.off_record and c.hidden_at is null;

-- name: sweep.owners
-- Whose active memories there are, over all tenants, after a (tenant, person) position; for jobs that enter each scope.
select distinct tenant_id, scope_id, scope from memories
where status = 'active'
  and (%(tenant_id)s::uuid is null or (tenant_id, scope_id) > (%(tenant_id)s, %(scope_id)s::uuid))
order by tenant_id, scope_id limit %(limit)s;
