-- name: policy.get
-- One version of a tenant's policy document.
select document from policy_versions where tenant_id = %(tenant_id)s and version = %(version)s;

-- name: policy.newest
-- The number of the tenant's newest version, 0 where it has none.
select coalesce(max(version), 0) as version from policy_versions where tenant_id = %(tenant_id)s;
