-- Several embedding models side by side: one serves, another may be built meanwhile, one that was left is kept a while.

alter table embedding_models
    add column state text not null default 'idle' check (state in ('idle', 'building', 'serving', 'retired')),
    add column changed_at timestamptz not null default now(),
    add column calibration jsonb;
create unique index embedding_models_one_serves on embedding_models (state) where state = 'serving';
-- What was there had one model in use: the newest.
update embedding_models set state = 'serving' where id = (select max(id) from embedding_models);

-- Vectors to be made, by model. A text that a model refuses while it answers others waits longer after each attempt.
alter table embedding_pending
    add column model_id smallint references embedding_models (id),
    add column attempts integer not null default 0,
    add column tried_at timestamptz;
alter table embedding_pending no force row level security;
update embedding_pending set model_id = (select id from embedding_models where state = 'serving');
alter table embedding_pending force row level security;
alter table embedding_pending alter column model_id set not null;
alter table embedding_pending drop constraint embedding_pending_pkey;
alter table embedding_pending add primary key (tenant_id, memory_id, version, model_id);
create index embedding_pending_order on embedding_pending
    (model_id, attempts, created_at, tenant_id, subject_id, memory_id);

-- The candidate that closed a version: history says by what, when and why.
alter table memories add column retired_by uuid;
create index memories_retired_by on memories (tenant_id, retired_by) where retired_by is not null;
create index memories_candidate on memories (tenant_id, candidate_id) where candidate_id is not null;

-- Jobs list what lacks a vector and remove what a model left behind. They see keys and states, never a text or a vector.
create policy jobs on memories for select to ingatan_jobs using (true);
create policy jobs_read on memory_embeddings for select to ingatan_jobs using (true);
create policy jobs_remove on memory_embeddings for delete to ingatan_jobs using (true);
drop policy jobs on embedding_pending;
create policy jobs on embedding_pending to ingatan_jobs using (true) with check (true);
create policy jobs on audit_pending for select to ingatan_jobs using (true);
grant update (state, changed_at, calibration) on embedding_models to ingatan_app;
grant update (attempts, tried_at) on embedding_pending to ingatan_app;
grant select (id, name, state) on embedding_models to ingatan_jobs;
grant select (tenant_id, scope_id, id, version, status) on memories to ingatan_jobs;
grant select (tenant_id, scope_id, model_id, memory_id, version), delete on memory_embeddings to ingatan_jobs;
grant insert, delete, update (attempts, tried_at) on embedding_pending to ingatan_jobs;
grant select (tenant_id) on audit_pending to ingatan_jobs;
