-- name: metrics.waiting
-- What waits, over all tenants, without content: spans set aside, audit rows to be chained.
select (select count(*) from sweep_abandoned) as abandoned, (select count(tenant_id) from audit_pending) as audit_rows;
