-- name: sources.add
-- A new source.
insert into sources (tenant_id, id, name, kind, writer_id, keys, trust, types, scopes, purposes, made_by)
values (%(tenant_id)s, %(id)s, %(name)s, %(kind)s, %(writer_id)s, %(keys)s, %(trust)s, %(types)s, %(scopes)s,
        %(purposes)s, %(made_by)s);

-- name: sources.get
-- One source.
select id, name, kind, writer_id, keys, trust, types, scopes, purposes, made_at, revoked_at
from sources where tenant_id = %(tenant_id)s and id = %(id)s;

-- name: sources.list
-- The tenant's sources, newest first, after an id; a null id starts at the top.
select id, name, kind, writer_id, keys, trust, types, scopes, purposes, made_at, revoked_at
from sources
where tenant_id = %(tenant_id)s and (%(before_id)s::uuid is null or id < %(before_id)s)
order by id desc limit %(limit)s;

-- name: sources.revoke
-- Revoked from now on; no row when it was before.
update sources set revoked_at = now() where tenant_id = %(tenant_id)s and id = %(id)s and revoked_at is null;

-- name: sources.hold
-- Nothing of the tenant is withdrawn until the transaction ends; waits for a withdrawal that is on its way.
select pg_advisory_xact_lock_shared(hashtextextended('ingatan sources ' || %(tenant_id)s::uuid, 0))::text;

-- name: sources.open_batch
-- A new batch.
insert into batches (tenant_id, id, source_id, made_by) values (%(tenant_id)s, %(id)s, %(source_id)s, %(made_by)s);

-- name: sources.batch
-- One batch.
select id, source_id, made_at, rolled_back_at from batches where tenant_id = %(tenant_id)s and id = %(id)s;

-- name: sources.roll_back
-- Rolled back from now on; no row when it was before.
update batches set rolled_back_at = now() where tenant_id = %(tenant_id)s and id = %(id)s and rolled_back_at is null;

-- name: sources.withdraw
-- Withdraw what a source or a batch brought, and what was derived from it; what was withdrawn and what is served again.
select memory_id, version, owner_scope, owner_id, restored from ingatan_withdraw(%(source)s, %(batch)s);

-- name: sources.take_event
-- Remember that an event was taken; no row when it was before.
insert into seen_events (tenant_id, source_id, digest, believed_until)
values (%(tenant_id)s, %(source_id)s, %(digest)s, %(believed_until)s) on conflict do nothing;

-- name: sources.forget_events
-- Events that would not be believed any more need not be remembered; how many.
delete from seen_events where tenant_id = %(tenant_id)s and believed_until < %(before)s;
