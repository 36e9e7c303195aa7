-- name: policy.get
-- One version of a tenant's policy document.
select document from policy_versions where tenant_id = %(tenant_id)s and version = %(version)s;
