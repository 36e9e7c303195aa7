-- name: idempotency.take
-- Remember a key with what its act made; nothing happens when the key is there already (a concurrent holder is awaited).
insert into idempotency_keys (tenant_id, principal_id, route, key, body_sha256, resource_ids)
values (%(tenant_id)s, %(principal_id)s, %(route)s, %(key)s, %(body_sha256)s, %(resource_ids)s)
on conflict do nothing;

-- name: idempotency.read
-- What a key's act made and when, or none.
select body_sha256, resource_ids, created_at from idempotency_keys
where tenant_id = %(tenant_id)s and principal_id = %(principal_id)s and route = %(route)s and key = %(key)s;

-- name: idempotency.clean
-- Forget a tenant's keys older than this; how many.
delete from idempotency_keys where tenant_id = %(tenant_id)s and created_at < %(before)s;
