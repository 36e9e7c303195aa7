-- Governed writes: whose knowledge a memory is, what it may be used for and where it came from; candidates that wait for a
-- reviewer; the policy documents of a tenant.

-- An account (a customer organisation) and the organisation itself own memories as a person does: each has a lock row, and
-- acts in a power of its own, so that a person whose id equals an account's never becomes that account.
do $$
declare
    name text;
begin
    foreach name in array array[
        'subjects id', 'memory_uses scope_id', 'memory_embeddings scope_id', 'embedding_pending subject_id',
        'erased_texts subject_id', 'candidates subject_id', 'erasures subject_id', 'suppressions subject_id'
    ] loop
        execute format(
            'create policy common_owner on %I to ingatan_app using (tenant_id = ingatan_tenant() and %I = ingatan_subject() and '
            'ingatan_power() in (''account'', ''organisation'')) with check (tenant_id = ingatan_tenant() and '
            '%2$I = ingatan_subject() and ingatan_power() in (''account'', ''organisation''))',
            split_part(name, ' ', 1), split_part(name, ' ', 2));
    end loop;
end
$$;
create policy common_owner on memories to ingatan_app
    using (tenant_id = ingatan_tenant() and scope = ingatan_power() and scope_id = ingatan_subject()
           and ingatan_power() in ('account', 'organisation'))
    with check (tenant_id = ingatan_tenant() and scope = ingatan_power() and scope_id = ingatan_subject()
                and subject_id = ingatan_subject() and ingatan_power() in ('account', 'organisation'));
create policy common_owner on memory_evidence to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() in ('account', 'organisation') and exists (
        select from memories m
        where m.tenant_id = memory_evidence.tenant_id and m.id = memory_evidence.memory_id
          and m.version = memory_evidence.version and m.scope = ingatan_power() and m.scope_id = ingatan_subject()))
    with check (tenant_id = ingatan_tenant() and ingatan_power() in ('account', 'organisation') and exists (
        select from memories m
        where m.tenant_id = memory_evidence.tenant_id and m.id = memory_evidence.memory_id
          and m.version = memory_evidence.version and m.scope = ingatan_power() and m.scope_id = ingatan_subject()));
alter policy chain on audit_heads
    using (tenant_id = ingatan_tenant()
           and ingatan_power() in ('person', 'account', 'organisation', 'review', 'admin', 'job'))
    with check (tenant_id = ingatan_tenant()
                and ingatan_power() in ('person', 'account', 'organisation', 'review', 'admin', 'job'));
alter policy append on audit_log
    with check (tenant_id = ingatan_tenant()
                and ingatan_power() in ('person', 'account', 'organisation', 'review', 'admin', 'job'));
alter policy append on audit_pending
    with check (tenant_id = ingatan_tenant()
                and ingatan_power() in ('person', 'account', 'organisation', 'review', 'admin', 'job'));

-- In whose power a vector is made; content-free.
alter table embedding_pending add column scope text not null default 'user'
    check (scope in ('user', 'account', 'organisation'));

-- What a memory may be used for, how it is classed, who in an account may be reminded of it, and where it came from. What
-- was withdrawn with its source is never served.
alter table memories
    add column purposes text[] not null default '{assistance}',
    add column classification text not null default 'personal',
    add column audience text not null default 'member' check (audience in ('member', 'admin')),
    add column source_id uuid,
    add column batch_id uuid,
    drop constraint memories_status_check,
    add constraint memories_status_check
        check (status in ('active', 'superseded', 'deleted', 'archived', 'withdrawn'));
create index memories_source on memories (tenant_id, source_id) where source_id is not null;

-- A candidate that waits (state open) keeps what it proposes until a reviewer, its person, or its end settles it; all
-- others keep no text. ``proposed_decision`` is the policy's own decision, whatever became of it.
alter table candidates
    add column scope text not null default 'user' check (scope in ('user', 'account', 'organisation')),
    add column source_kind text not null default 'turn',
    add column source_id uuid,
    add column batch_id uuid,
    add column state text not null default 'settled' check (state in ('settled', 'open', 'withdrawn', 'expired')),
    add column payload jsonb,
    add column proposed_decision text,
    add column verdict text check (verdict in ('approve', 'reject')),
    add column reviewer_id uuid,
    add column reviewed_at timestamptz,
    add column review_note text,
    add column appealed_at timestamptz,
    add column appeal_note text,
    add column expires_at timestamptz,
    add constraint candidates_reviewed_by_another
        check (reviewer_id is null or reviewer_id not in (writer_id, subject_id)),
    add constraint candidates_text_only_while_open check (payload is null or state = 'open');
alter table candidates alter column payload set statistics 0;
alter table candidates alter column review_note set statistics 0;
alter table candidates alter column appeal_note set statistics 0;
create index candidates_open on candidates (tenant_id, created_at, id) where state = 'open';
create index candidates_writer on candidates (tenant_id, writer_id, created_at);

-- A service, or a member for an account, sees what became of its own proposals.
create policy writer_reads on candidates for select to ingatan_app
    using (tenant_id = ingatan_tenant() and writer_id = ingatan_subject() and ingatan_power() = 'person');

create table policy_versions (
    tenant_id uuid not null,
    version integer not null check (version > 0),
    document jsonb not null,
    made_by uuid not null,
    made_at timestamptz not null default now(),
    primary key (tenant_id, version)
);
alter table policy_versions enable row level security;
alter table policy_versions force row level security;
create policy tenant_reads on policy_versions for select to ingatan_app using (tenant_id = ingatan_tenant());
create policy admin_adds on policy_versions for insert to ingatan_app
    with check (tenant_id = ingatan_tenant() and made_by = ingatan_subject() and ingatan_power() = 'admin');
grant select, insert on policy_versions to ingatan_app;
create policy owner on policy_versions to current_user using (true) with check (true);
