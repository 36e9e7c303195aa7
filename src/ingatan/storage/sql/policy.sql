-- name: policy.newest
-- The version in force of a tenant's own documents, or none.
select version, document, made_by, made_at from policy_versions
where tenant_id = %(tenant_id)s order by version desc limit 1;

-- name: policy.read
-- One version with who made it and when.
select version, document, made_by, made_at from policy_versions
where tenant_id = %(tenant_id)s and version = %(version)s;

-- name: policy.page
-- A tenant's versions, newest first, before a number.
select version, document, made_by, made_at from policy_versions
where tenant_id = %(tenant_id)s and (%(before)s::integer is null or version < %(before)s)
order by version desc limit %(limit)s;

-- name: policy.add
-- A new version, unless somebody else made one of this number: then none.
insert into policy_versions (tenant_id, version, document, made_by)
values (%(tenant_id)s, %(version)s, %(document)s, %(made_by)s) on conflict do nothing;
