-- name: subjects.register_tenant
-- The tenant exists; its name is whatever identified it first. An insert that meets a row being changed waits for it, so
-- none is tried where a row is seen: whoever registers may hold what the changer waits for.
insert into tenants (id, name) select %(tenant_id)s, %(name)s
where not exists (select from tenants where id = %(tenant_id)s) on conflict do nothing;

-- name: subjects.register
-- The person has a lock row; waits for nobody who changes it, as subjects.register_tenant.
insert into subjects (tenant_id, id) select %(tenant_id)s, %(subject_id)s
where not exists (select from subjects where tenant_id = %(tenant_id)s and id = %(subject_id)s) on conflict do nothing;

-- name: subjects.lock
-- The person's row, locked until the transaction ends: everything written about them goes one after the other.
select erasure_epoch, consent from subjects where tenant_id = %(tenant_id)s and id = %(subject_id)s for update;

-- name: subjects.read
-- The person's row without a lock, whether they have any suppression, and which version of the policy
-- governs their tenant. One row; what is null has its default.
select s.erasure_epoch, s.consent, s.consent_at, exists (
           select from suppressions u where u.tenant_id = %(tenant_id)s and u.subject_id = %(subject_id)s
       ) as has_suppressions,
       (select coalesce(max(p.version), 0) from policy_versions p where p.tenant_id = %(tenant_id)s) as policy_version
from (select 1) as one
left join subjects s on s.tenant_id = %(tenant_id)s and s.id = %(subject_id)s;

-- name: subjects.standing
-- As subjects.read, with how many candidates a writer, the subject and a source brought since a moment.
select s.erasure_epoch, s.consent, s.consent_at, exists (
           select from suppressions u where u.tenant_id = %(tenant_id)s and u.subject_id = %(subject_id)s
       ) as has_suppressions,
       (select coalesce(max(p.version), 0) from policy_versions p where p.tenant_id = %(tenant_id)s) as policy_version,
       b.by_writer, b.by_subject, b.by_source, b.oldest_at
from ingatan_brought(%(writer_id)s, %(subject_id)s, %(source_id)s, %(since)s) b
left join subjects s on s.tenant_id = %(tenant_id)s and s.id = %(subject_id)s;

-- name: subjects.raise_epoch
-- After an erasure: whatever was read before it may not be written any more.
update subjects set erasure_epoch = erasure_epoch + 1 where tenant_id = %(tenant_id)s and id = %(subject_id)s;

-- name: subjects.set_consent
-- What the person said about being remembered.
update subjects set consent = %(consent)s, consent_at = now()
where tenant_id = %(tenant_id)s and id = %(subject_id)s;

-- name: subjects.claim
-- One extraction a person and lane: take the lease if it is free or has run out. One row with its end, or none.
update subjects set
    lease_until = case %(lane)s when 'all' then now() + make_interval(secs => %(lease_seconds)s) else lease_until end,
    scoped_lease_until =
        case %(lane)s when 'scoped' then now() + make_interval(secs => %(lease_seconds)s) else scoped_lease_until end
where tenant_id = %(tenant_id)s and id = %(subject_id)s
  and coalesce(case %(lane)s when 'all' then lease_until else scoped_lease_until end, '-infinity') < now()
returning case %(lane)s when 'all' then lease_until else scoped_lease_until end as lease_until;

-- name: subjects.release
-- Give the lease back; only its holder, who knows its end, can.
update subjects set lease_until = nullif(lease_until, %(lease_until)s),
                    scoped_lease_until = nullif(scoped_lease_until, %(lease_until)s)
where tenant_id = %(tenant_id)s and id = %(subject_id)s and %(lease_until)s in (lease_until, scoped_lease_until);
