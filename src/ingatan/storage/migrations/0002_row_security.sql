-- Who sees which row. Two roles beside the owner; every policy reads the three variables of the transaction.

do $$
begin
    if to_regrole('ingatan_app') is null then
        create role ingatan_app login;
    end if;
    if to_regrole('ingatan_jobs') is null then
        create role ingatan_jobs nologin;
    end if;
    if not exists (
        select from pg_auth_members
        where roleid = 'ingatan_jobs'::regrole and member = 'ingatan_app'::regrole and set_option and not inherit_option
    ) then
        grant ingatan_jobs to ingatan_app with inherit false, set true;
    end if;
exception
    when duplicate_object or unique_violation then
        null;  -- another database of this cluster migrates at the same moment
    when insufficient_privilege then
        raise exception 'The roles ingatan_app and ingatan_jobs are missing, and this role may not create them.'
            using hint = 'Run as administrator: create role ingatan_app login; create role ingatan_jobs; '
                         'grant ingatan_jobs to ingatan_app with inherit false, set true;';
end
$$;

-- Unset, empty: null, which equals no row's value. Inlined by the planner.
create function ingatan_tenant() returns uuid language sql stable parallel safe
    return nullif(split_part(current_setting('ingatan.scope', true), ' ', 1), '')::uuid;
create function ingatan_subject() returns uuid language sql stable parallel safe
    return nullif(split_part(current_setting('ingatan.scope', true), ' ', 2), '')::uuid;
create function ingatan_power() returns text language sql stable parallel safe
    return split_part(current_setting('ingatan.scope', true), ' ', 3);

do $$
declare
    name text;
begin
    foreach name in array array[
        'tenants', 'subjects', 'conversations', 'messages', 'sweep_state', 'sweep_abandoned', 'leases', 'memories',
        'memory_evidence', 'memory_uses', 'memory_embeddings', 'candidates', 'audit_heads', 'audit_log',
        'audit_pending', 'erasures', 'idempotency_keys', 'embedding_pending', 'erased_texts'
    ] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
    end loop;
end
$$;

-- A person: the rows about them, in their tenant.
create policy tenant on tenants to ingatan_app
    using (id = ingatan_tenant()) with check (id = ingatan_tenant());
create policy person on subjects to ingatan_app
    using (tenant_id = ingatan_tenant() and id = ingatan_subject() and ingatan_power() = 'person')
    with check (tenant_id = ingatan_tenant() and id = ingatan_subject() and ingatan_power() = 'person');
create policy person on conversations to ingatan_app
    using (tenant_id = ingatan_tenant() and user_id = ingatan_subject() and ingatan_power() = 'person')
    with check (tenant_id = ingatan_tenant() and user_id = ingatan_subject() and ingatan_power() = 'person');
create policy person on messages to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'person' and exists (
        select from conversations c
        where c.tenant_id = messages.tenant_id and c.id = messages.conversation_id and c.user_id = ingatan_subject()))
    with check (tenant_id = ingatan_tenant() and ingatan_power() = 'person' and exists (
        select from conversations c
        where c.tenant_id = messages.tenant_id and c.id = messages.conversation_id and c.user_id = ingatan_subject()));
create policy person on sweep_state to ingatan_app
    using (tenant_id = ingatan_tenant() and subject_id = ingatan_subject() and ingatan_power() = 'person')
    with check (tenant_id = ingatan_tenant() and subject_id = ingatan_subject() and ingatan_power() = 'person');
create policy person on sweep_abandoned to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'person' and exists (
        select from conversations c
        where c.tenant_id = sweep_abandoned.tenant_id and c.id = sweep_abandoned.conversation_id
          and c.user_id = ingatan_subject()))
    with check (tenant_id = ingatan_tenant() and ingatan_power() = 'person' and exists (
        select from conversations c
        where c.tenant_id = sweep_abandoned.tenant_id and c.id = sweep_abandoned.conversation_id
          and c.user_id = ingatan_subject()));
create policy person on memories to ingatan_app
    using (tenant_id = ingatan_tenant() and scope = 'user' and scope_id = ingatan_subject()
           and ingatan_power() = 'person')
    with check (tenant_id = ingatan_tenant() and scope = 'user' and scope_id = ingatan_subject()
                and subject_id = ingatan_subject() and ingatan_power() = 'person');
create policy person on memory_evidence to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'person' and exists (
        select from memories m
        where m.tenant_id = memory_evidence.tenant_id and m.id = memory_evidence.memory_id
          and m.version = memory_evidence.version and m.scope = 'user' and m.scope_id = ingatan_subject()))
    with check (tenant_id = ingatan_tenant() and ingatan_power() = 'person' and exists (
        select from memories m
        where m.tenant_id = memory_evidence.tenant_id and m.id = memory_evidence.memory_id
          and m.version = memory_evidence.version and m.scope = 'user' and m.scope_id = ingatan_subject()));
create policy person on memory_uses to ingatan_app
    using (tenant_id = ingatan_tenant() and scope_id = ingatan_subject() and ingatan_power() = 'person')
    with check (tenant_id = ingatan_tenant() and scope_id = ingatan_subject() and ingatan_power() = 'person');
create policy person on memory_embeddings to ingatan_app
    using (tenant_id = ingatan_tenant() and scope_id = ingatan_subject() and ingatan_power() = 'person')
    with check (tenant_id = ingatan_tenant() and scope_id = ingatan_subject() and ingatan_power() = 'person');
create policy person on embedding_pending to ingatan_app
    using (tenant_id = ingatan_tenant() and subject_id = ingatan_subject() and ingatan_power() = 'person')
    with check (tenant_id = ingatan_tenant() and subject_id = ingatan_subject() and ingatan_power() = 'person');
create policy person on erased_texts to ingatan_app
    using (tenant_id = ingatan_tenant() and subject_id = ingatan_subject() and ingatan_power() = 'person')
    with check (tenant_id = ingatan_tenant() and subject_id = ingatan_subject() and ingatan_power() = 'person');
create policy person on candidates to ingatan_app
    using (tenant_id = ingatan_tenant() and subject_id = ingatan_subject() and ingatan_power() = 'person')
    with check (tenant_id = ingatan_tenant() and subject_id = ingatan_subject() and ingatan_power() = 'person');
create policy person on erasures to ingatan_app
    using (tenant_id = ingatan_tenant() and subject_id = ingatan_subject() and ingatan_power() = 'person')
    with check (tenant_id = ingatan_tenant() and subject_id = ingatan_subject() and ingatan_power() = 'person');
create policy person on idempotency_keys to ingatan_app
    using (tenant_id = ingatan_tenant() and principal_id = ingatan_subject() and ingatan_power() = 'person')
    with check (tenant_id = ingatan_tenant() and principal_id = ingatan_subject() and ingatan_power() = 'person');

-- Whoever acts leaves a trace in the tenant's chain; an auditor only reads it.
create policy chain on audit_heads to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() in ('person', 'review', 'job'))
    with check (tenant_id = ingatan_tenant() and ingatan_power() in ('person', 'review', 'job'));
create policy append on audit_log for insert to ingatan_app
    with check (tenant_id = ingatan_tenant() and ingatan_power() in ('person', 'review', 'job'));
create policy append on audit_pending for insert to ingatan_app
    with check (tenant_id = ingatan_tenant() and ingatan_power() in ('person', 'review', 'job'));
create policy audit on audit_heads for select to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'audit');
create policy audit on audit_log for select to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'audit');

-- A reviewer: the tenant's candidates, and the quotes cited by those that wait. No transcript.
create policy review on candidates for select to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'review');
create policy review_decides on candidates for update to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'review')
    with check (tenant_id = ingatan_tenant() and ingatan_power() = 'review');
create policy review on memory_evidence for select to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'review' and exists (
        select from candidates c
        where c.tenant_id = memory_evidence.tenant_id and c.memory_id = memory_evidence.memory_id
          and c.decision in ('review', 'quarantine')));

-- A job inside one tenant: sealing, counting, cleaning.
create policy job_reads on audit_pending for select to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'job');
create policy job_seals on audit_pending for delete to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'job');
create policy job_reads on memory_uses for select to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'job');
create policy job_counts on memory_uses for update to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'job')
    with check (tenant_id = ingatan_tenant() and ingatan_power() = 'job');
create policy job_reads on idempotency_keys for select to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'job');
create policy job_cleans on idempotency_keys for delete to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'job');

-- Before a tenant is entered: only what carries no content.
create policy jobs on tenants for select to ingatan_jobs using (true);
create policy jobs on sweep_state to ingatan_jobs using (true) with check (true);
create policy jobs on embedding_pending for select to ingatan_jobs using (true);
create policy jobs on sweep_abandoned to ingatan_jobs using (true);
create policy jobs on leases to ingatan_jobs using (true) with check (true);

grant select on alembic_version to ingatan_app;
grant select, insert on tenants, embedding_models to ingatan_app;
grant select, insert, update on subjects to ingatan_app;
grant select, insert, update, delete on
    conversations, sweep_state, sweep_abandoned, memories, memory_uses, memory_embeddings, candidates, idempotency_keys
    to ingatan_app;
grant select, insert, delete, update (off_record, metadata) on messages to ingatan_app;
grant select, insert, delete on memory_evidence, audit_pending, embedding_pending to ingatan_app;
grant select, insert, update on audit_heads, erased_texts to ingatan_app;
grant select, insert on audit_log to ingatan_app;
grant select, insert, update (receipt) on erasures to ingatan_app;
grant select (id) on tenants to ingatan_jobs;
grant select on embedding_pending to ingatan_jobs;
grant select, delete on sweep_abandoned to ingatan_jobs;
grant select, update (done_seq, last_received_at, attempts, lease_until, fence) on sweep_state to ingatan_jobs;
grant select, insert, update, delete on leases to ingatan_jobs;
