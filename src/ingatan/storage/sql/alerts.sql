-- name: alerts.unusual
-- What is more than usual in a tenant at a moment, by kind and key.
select kind, key, n
from ingatan_unusual(%(moment)s, %(actors)s, %(subjects)s, %(sources)s, %(changes)s, %(contradictions)s, %(people)s)
order by kind, key;

-- name: alerts.raise
-- Once a kind, key and day: none where it was raised before.
insert into alerts (tenant_id, id, kind, key, day, n, at)
values (%(tenant_id)s, %(id)s, %(kind)s, %(key)s, %(day)s, %(n)s, %(at)s) on conflict do nothing;

-- name: alerts.page
-- A tenant's alerts, newest first, after a (time, id) position; a null filter does not filter.
select id, kind, key, day, n, at from alerts
where tenant_id = %(tenant_id)s and (%(kind)s::text is null or kind = %(kind)s)
  and (%(from_at)s::timestamptz is null or at >= %(from_at)s) and (%(to_at)s::timestamptz is null or at < %(to_at)s)
  and (%(before_at)s::timestamptz is null or (at, id) < (%(before_at)s, %(before_id)s))
order by at desc, id desc limit %(limit)s;
