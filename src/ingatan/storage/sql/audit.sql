-- name: audit.head
-- The tenant's chain head, locked until the transaction ends; none before the first row.
select seq, mac from audit_heads where tenant_id = %(tenant_id)s and lane = 0 for update;

-- name: audit.first_head
-- Make the head of a tenant's chain; a second maker waits for the first and then does nothing.
insert into audit_heads (tenant_id, lane, seq, mac) values (%(tenant_id)s, 0, 0, %(mac)s) on conflict do nothing;

-- name: audit.append
-- One chained row.
insert into audit_log (tenant_id, lane, seq, id, at, actor_id, action, entity_type, entity_id, details, mac)
values (%(tenant_id)s, 0, %(seq)s, %(id)s, %(at)s, %(actor_id)s, %(action)s, %(entity_type)s, %(entity_id)s,
        %(details)s, %(mac)s);

-- name: audit.move_head
-- The head follows its last row; held by the lock that audit.head took.
update audit_heads set seq = %(seq)s, mac = %(mac)s where tenant_id = %(tenant_id)s and lane = 0;

-- name: audit.enqueue
-- One row that the sealer will chain: the path of every answer pays one insert and waits for no chain.
insert into audit_pending (tenant_id, id, at, actor_id, action, entity_type, entity_id, details)
values (%(tenant_id)s, %(id)s, %(at)s, %(actor_id)s, %(action)s, %(entity_type)s, null, %(details)s);

-- name: audit.count_uses
-- Uses reported since the last time; a memory erased meanwhile has no counter, and gets none.
update memory_uses set count = count + %(count)s, last_at = greatest(last_at, %(at)s)
where tenant_id = %(tenant_id)s and memory_id = %(memory_id)s;

-- name: audit.take_pending
-- Remove and return up to limit pending rows, oldest first; what another sealer takes meanwhile is not returned twice.
with taken as (
    select id from audit_pending where tenant_id = %(tenant_id)s order by id limit %(limit)s
)
delete from audit_pending p using taken where p.tenant_id = %(tenant_id)s and p.id = taken.id
returning p.id, p.at, p.actor_id, p.action, p.entity_type, p.entity_id, p.details;

-- name: audit.page
-- Chained rows after a sequence number, in order. A time that is none of the calendar comes as null.
select seq, id, case when isfinite(at) and at > '0001-01-02' and at < '9999-12-30' then at end as at, actor_id, action, entity_type, entity_id, details, mac
from audit_log where tenant_id = %(tenant_id)s and lane = 0 and seq > %(after)s order by seq limit %(limit)s;

-- name: audit.list
-- Chained rows for reading, newest first, before a sequence number; a null filter does not filter.
select seq, id, at, actor_id, action, entity_type, entity_id, details
from audit_log
where tenant_id = %(tenant_id)s and lane = 0
  and (%(before)s::bigint is null or seq < %(before)s)
  and (%(entity_type)s::text is null or entity_type = %(entity_type)s)
  and (%(entity_id)s::uuid is null or entity_id = %(entity_id)s)
  and (%(actor_id)s::uuid is null or actor_id = %(actor_id)s)
  and (%(from_at)s::timestamptz is null or at >= %(from_at)s)
  and (%(to_at)s::timestamptz is null or at < %(to_at)s)
order by seq desc limit %(limit)s;

-- name: audit.strays
-- Rows and heads that belong to no lane of ours: nothing that we write.
select (select count(*) from audit_log where tenant_id = %(tenant_id)s and lane <> 0)
     + (select count(*) from audit_heads where tenant_id = %(tenant_id)s and lane <> 0) as n;

-- name: audit.read_head
-- The head without a lock, for verifying.
select seq, mac from audit_heads where tenant_id = %(tenant_id)s and lane = 0;
