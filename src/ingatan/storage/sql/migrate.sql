-- name: migrate.lock
-- Wait until no other replica migrates this database; held until the transaction ends. The number means nothing.
select pg_advisory_xact_lock(7307149012345)
