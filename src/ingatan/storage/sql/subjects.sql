-- name: subjects.register_tenant
-- The tenant exists; its name is whatever identified it first.
insert into tenants (id, name) values (%(tenant_id)s, %(name)s) on conflict do nothing;

-- name: subjects.register
-- The person has a lock row.
insert into subjects (tenant_id, id) values (%(tenant_id)s, %(subject_id)s) on conflict do nothing;

-- name: subjects.lock
-- The person's row, locked until the transaction ends: everything written about them goes one after the other.
select erasure_epoch, consent from subjects where tenant_id = %(tenant_id)s and id = %(subject_id)s for update;

-- name: subjects.read
-- The person's row without a lock.
select erasure_epoch, consent, consent_at from subjects where tenant_id = %(tenant_id)s and id = %(subject_id)s;

-- name: subjects.raise_epoch
-- After an erasure: whatever was read before it may not be written any more.
update subjects set erasure_epoch = erasure_epoch + 1 where tenant_id = %(tenant_id)s and id = %(subject_id)s;

-- name: subjects.set_consent
-- What the person said about being remembered.
update subjects set consent = %(consent)s, consent_at = now()
where tenant_id = %(tenant_id)s and id = %(subject_id)s;

-- name: subjects.claim
-- One extraction a person: take the lease if it is free or has run out. One row or none.
update subjects set lease_until = now() + make_interval(secs => %(lease_seconds)s)
where tenant_id = %(tenant_id)s and id = %(subject_id)s and (lease_until is null or lease_until < now());

-- name: subjects.release
-- Give the lease back.
update subjects set lease_until = null where tenant_id = %(tenant_id)s and id = %(subject_id)s;
