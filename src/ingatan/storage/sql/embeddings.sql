-- name: embeddings.models
-- Every embedding model this database knows, oldest first.
select id, name, dimensions, state,
       state = 'retired' and changed_at < now() - make_interval(secs => %(keep_seconds)s) as left_long_ago
from embedding_models order by id;

-- name: embeddings.add_model
-- A model seen for the first time; nothing happens when another process was first.
insert into embedding_models (name, dimensions) values (%(name)s, %(dimensions)s) on conflict (name) do nothing;

-- name: embeddings.serve_first
-- The model serves, where none does.
update embedding_models set state = 'serving', changed_at = now()
where id = %(id)s and not exists (select from embedding_models where state = 'serving');

-- name: embeddings.leave
-- The model that serves serves no more; its vectors stay for a while.
update embedding_models set state = 'retired', changed_at = now() where state = 'serving';

-- name: embeddings.set_state
-- Move a model from one state to another; no row when it was not in the first.
update embedding_models set state = %(state)s, changed_at = now() where id = %(id)s and state = any(%(states)s);

-- name: embeddings.calibration
-- What was measured of the cohort under a model, or null.
select calibration from embedding_models where id = %(id)s;

-- name: embeddings.set_calibration
-- Keep what was measured of the cohort under a model.
update embedding_models set calibration = %(calibration)s where id = %(id)s;

-- name: embeddings.gather
-- Queue for a model every active memory without a vector of it, or every active memory; how many were queued now.
insert into embedding_pending (tenant_id, subject_id, scope, memory_id, version, model_id)
select m.tenant_id, m.scope_id, m.scope, m.id, m.version, %(model_id)s
from memories m
where m.status = 'active' and (%(everything)s or not exists (
    select from memory_embeddings e
    where e.tenant_id = m.tenant_id and e.scope_id = m.scope_id and e.model_id = %(model_id)s
      and e.memory_id = m.id and e.version = m.version))
on conflict do nothing;

-- name: embeddings.pending
-- Vectors to be made for a model, fewest attempts first, person by person; one that failed thrice waits an hour.
select tenant_id, subject_id, scope, memory_id, version, model_id
from embedding_pending
where model_id = %(model_id)s and (attempts < 3 or tried_at < now() - interval '1 hour')
order by attempts, created_at, tenant_id, subject_id, memory_id limit %(limit)s;

-- name: embeddings.counted
-- Vectors to be made by model: all, and those not yet given up for the moment.
select model_id, count(*) as pending, count(*) filter (where attempts < 3) as open from embedding_pending group by 1;

-- name: embeddings.active
-- How many memories are active: what a complete model has a vector of.
select count(*) as n from memories where status = 'active';

-- name: embeddings.texts
-- The texts of the caller's active memories out of these.
select id, version, text from memories
where tenant_id = %(tenant_id)s and scope_id = %(subject_id)s and id = any(%(ids)s) and status = 'active';

-- name: embeddings.put
-- The vector of an active version, in place of one that was there.
insert into memory_embeddings (tenant_id, scope_id, model_id, memory_id, version, v)
select m.tenant_id, m.scope_id, %(model_id)s, m.id, m.version, %(v)s
from memories m
where m.tenant_id = %(tenant_id)s and m.id = %(memory_id)s and m.version = %(version)s and m.status = 'active'
on conflict (tenant_id, scope_id, model_id, memory_id, version) do update set v = excluded.v;

-- name: embeddings.done
-- The vector is there, or its version is not served any more.
delete from embedding_pending
where tenant_id = %(tenant_id)s and memory_id = %(memory_id)s and version = %(version)s and model_id = %(model_id)s;

-- name: embeddings.failed
-- The model refused this text though it answers others.
update embedding_pending set attempts = attempts + 1, tried_at = now()
where tenant_id = %(tenant_id)s and memory_id = %(memory_id)s and version = %(version)s and model_id = %(model_id)s;

-- name: embeddings.forget_pending
-- Nothing is to be made any more for models that neither serve nor are built.
delete from embedding_pending p using embedding_models m
where p.model_id = any(%(model_ids)s) and m.id = p.model_id and m.state not in ('serving', 'building');

-- name: embeddings.remove
-- Remove some vectors of a model that was left; how many.
delete from memory_embeddings e
using (select tenant_id, scope_id, model_id, memory_id, version from memory_embeddings
       where model_id = %(model_id)s limit %(limit)s) d
where e.tenant_id = d.tenant_id and e.scope_id = d.scope_id and e.model_id = d.model_id
  and e.memory_id = d.memory_id and e.version = d.version;

-- name: embeddings.any
-- One row if there is a vector of this model.
select 1 as found from memory_embeddings where model_id = %(model_id)s limit 1;
