-- Accounts and their members; registered sources with their keys; batches; what is derived from what; events seen once.

create table accounts (
    tenant_id uuid not null,
    id uuid not null,
    name text not null,
    created_at timestamptz not null default now(),
    primary key (tenant_id, id)
);
alter table accounts alter column name set statistics 0;

create table account_members (
    tenant_id uuid not null,
    account_id uuid not null,
    subject_id uuid not null,
    role text not null check (role in ('member', 'admin')),
    added_at timestamptz not null default now(),
    primary key (tenant_id, account_id, subject_id),
    foreign key (tenant_id, account_id) references accounts (tenant_id, id) on delete cascade
);
create index account_members_subject on account_members (tenant_id, subject_id, account_id);

-- What may bring candidates besides people: a service (its subject id) or a signer (its public keys), each with what it
-- may write. ``trust`` caps how far anything from it carries.
create table sources (
    tenant_id uuid not null,
    id uuid not null,
    name text not null,
    kind text not null check (kind in ('event', 'external', 'document')),
    writer_id uuid,
    keys jsonb,
    trust text not null check (trust in ('unverified', 'stated', 'confirmed', 'reviewed', 'signed')),
    types text[] not null,
    scopes text[] not null,
    purposes text[] not null default '{}',
    made_by uuid not null,
    made_at timestamptz not null default now(),
    revoked_at timestamptz,
    primary key (tenant_id, id),
    check (kind <> 'event' or keys is not null)
);

create table batches (
    tenant_id uuid not null,
    id uuid not null,
    source_id uuid not null,
    made_by uuid not null,
    made_at timestamptz not null default now(),
    rolled_back_at timestamptz,
    primary key (tenant_id, id),
    foreign key (tenant_id, source_id) references sources (tenant_id, id)
);
create index batches_source on batches (tenant_id, source_id, made_at desc);

create table memory_lineage (
    tenant_id uuid not null,
    memory_id uuid not null,
    version integer not null,
    parent_kind text not null check (parent_kind in ('memory', 'message', 'event', 'document')),
    parent_id uuid not null,
    primary key (tenant_id, memory_id, version, parent_kind, parent_id),
    foreign key (tenant_id, memory_id, version) references memories (tenant_id, id, version) on delete cascade
);
create index memory_lineage_parent on memory_lineage (tenant_id, parent_id);

-- Content-free: an event is taken once. Kept as long as the event itself would be believed.
create table seen_events (
    tenant_id uuid not null,
    source_id uuid not null,
    digest bytea not null,
    believed_until timestamptz not null,
    primary key (tenant_id, source_id, digest)
);

do $$
declare
    name text;
begin
    foreach name in array array['accounts', 'account_members', 'sources', 'batches', 'memory_lineage', 'seen_events'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
        execute format('create policy owner on %I to %I using (true) with check (true)', name, current_user);
    end loop;
end
$$;

-- The accounts of which the acting person is a member, and those in which they have authority, at this moment.
create function ingatan_accounts() returns uuid[] language sql stable security definer parallel safe
    set search_path = pg_catalog, pg_temp
    begin atomic
        select coalesce(array_agg(m.account_id), '{}') from account_members m
        where m.tenant_id = ingatan_tenant() and m.subject_id = ingatan_subject() and ingatan_power() = 'person';
    end;
create function ingatan_administered_accounts() returns uuid[] language sql stable security definer parallel safe
    set search_path = pg_catalog, pg_temp
    begin atomic
        select coalesce(array_agg(m.account_id), '{}') from account_members m
        where m.tenant_id = ingatan_tenant() and m.subject_id = ingatan_subject() and m.role = 'admin'
          and ingatan_power() = 'person';
    end;
revoke all on function ingatan_accounts(), ingatan_administered_accounts() from public;
grant execute on function ingatan_accounts(), ingatan_administered_accounts() to ingatan_app;

create policy member_reads on accounts for select to ingatan_app
    using (tenant_id = ingatan_tenant() and id = any ((select ingatan_accounts())::uuid[]));
create policy admin on accounts to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'admin')
    with check (tenant_id = ingatan_tenant() and ingatan_power() = 'admin');
create policy member_reads on account_members for select to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'person'
           and (subject_id = ingatan_subject() or account_id = any ((select ingatan_accounts())::uuid[])));
create policy account_admin_adds on account_members for insert to ingatan_app
    with check (tenant_id = ingatan_tenant() and account_id = any ((select ingatan_administered_accounts())::uuid[]));
create policy account_admin_changes on account_members for update to ingatan_app
    using (tenant_id = ingatan_tenant() and account_id = any ((select ingatan_administered_accounts())::uuid[]))
    with check (tenant_id = ingatan_tenant() and account_id = any ((select ingatan_administered_accounts())::uuid[]));
create policy account_admin_removes on account_members for delete to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'person'
           and (subject_id = ingatan_subject() or account_id = any ((select ingatan_administered_accounts())::uuid[])));
create policy admin on account_members to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'admin')
    with check (tenant_id = ingatan_tenant() and ingatan_power() = 'admin');

-- What an account remembers is read by its members, and what is kept for those with authority by them alone; what the
-- organisation remembers by everybody in it. Quotes are not: they are somebody's words. PostgreSQL asks the policy whose
-- name sorts last first: 'person' finds a person's own rows theirs before anyone's membership is looked up.
create policy by_account on memories for select to ingatan_app
    using (tenant_id = ingatan_tenant() and scope = 'account' and ingatan_power() = 'person' and exists (
        select from account_members a
        where a.tenant_id = memories.tenant_id and a.account_id = memories.scope_id
          and a.subject_id = ingatan_subject() and (memories.audience = 'member' or a.role = 'admin')));
create policy by_organisation on memories for select to ingatan_app
    using (tenant_id = ingatan_tenant() and scope = 'organisation' and scope_id = ingatan_tenant()
           and ingatan_power() = 'person');
create policy by_membership on memory_embeddings for select to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'person'
           and (scope_id = ingatan_tenant() or exists (
               select from account_members a
               where a.tenant_id = memory_embeddings.tenant_id and a.account_id = memory_embeddings.scope_id
                 and a.subject_id = ingatan_subject())));

create policy tenant_reads on sources for select to ingatan_app using (tenant_id = ingatan_tenant());
create policy admin_adds on sources for insert to ingatan_app
    with check (tenant_id = ingatan_tenant() and made_by = ingatan_subject() and ingatan_power() = 'admin');
create policy admin_revokes on sources for update to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'admin')
    with check (tenant_id = ingatan_tenant() and ingatan_power() = 'admin');
create policy tenant_reads on batches for select to ingatan_app using (tenant_id = ingatan_tenant());
create policy writer_opens on batches for insert to ingatan_app
    with check (tenant_id = ingatan_tenant() and made_by = ingatan_subject() and ingatan_power() in ('person', 'admin'));
create policy admin_changes on batches for update to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'admin')
    with check (tenant_id = ingatan_tenant() and ingatan_power() = 'admin');
create policy of_memory on memory_lineage to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() in ('person', 'account', 'organisation') and exists (
        select from memories m
        where m.tenant_id = memory_lineage.tenant_id and m.id = memory_lineage.memory_id
          and m.version = memory_lineage.version and m.scope_id = ingatan_subject()))
    with check (tenant_id = ingatan_tenant() and ingatan_power() in ('person', 'account', 'organisation') and exists (
        select from memories m
        where m.tenant_id = memory_lineage.tenant_id and m.id = memory_lineage.memory_id
          and m.version = memory_lineage.version and m.scope_id = ingatan_subject()));
create policy taken on seen_events for insert to ingatan_app
    with check (tenant_id = ingatan_tenant() and ingatan_power() in ('person', 'account', 'organisation'));
create policy job_reads on seen_events for select to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'job');
create policy job_cleans on seen_events for delete to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'job');

grant select, insert on accounts to ingatan_app;
grant select, insert, update, delete on account_members to ingatan_app;
grant select, insert, update (revoked_at) on sources to ingatan_app;
grant select, insert, update (rolled_back_at) on batches to ingatan_app;
grant select, insert on memory_lineage to ingatan_app;
grant select, insert, delete on seen_events to ingatan_app;

-- Withdraw what a source or one batch of it brought, and everything derived from that, in every scope of the tenant: it is
-- not served from this moment, its vectors and what waited go, and what it alone had superseded is served again. What was
-- closed on request stays closed. Nothing is being taken from a source meanwhile: whoever does holds the lock shared. Whose
-- it was, and which memory was withdrawn or restored; an administrator's power, and no text leaves here.
create function ingatan_withdraw(source uuid, batch uuid)
returns table (memory_id uuid, version integer, owner_scope text, owner_id uuid, restored boolean)
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    tenant uuid := ingatan_tenant();
    owners uuid[] := '{}';
    ids uuid[];
    versions integer[];
    undone uuid[];
begin
    if tenant is null or ingatan_power() is distinct from 'admin' or (source is null) = (batch is null) then
        raise insufficient_privilege using message = 'only an administrator withdraws, one source or one batch';
    end if;
    perform pg_advisory_xact_lock(hashtextextended('ingatan sources ' || tenant, 0));
    for pass in 1..2 loop  -- whose it is, then what it is once nobody writes about them
        with recursive taken as (
            select m.id, m.version from memories m
            where m.tenant_id = tenant and (m.source_id = source or m.batch_id = batch)
            union
            select l.memory_id, l.version
            from taken t
            join memory_lineage l on l.tenant_id = tenant and l.parent_kind = 'memory' and l.parent_id = t.id
        )
        select coalesce(array_agg(m.id), '{}'), coalesce(array_agg(m.version), '{}'),
               coalesce(array_agg(distinct m.scope_id order by m.scope_id), '{}')
        into ids, versions, owners
        from taken t join memories m on m.tenant_id = tenant and m.id = t.id and m.version = t.version
        where m.status not in ('withdrawn', 'deleted');
        if pass = 1 then
            perform from subjects s where s.tenant_id = tenant and s.id = any (owners) order by s.id for update;
        end if;
    end loop;
    update subjects s set erasure_epoch = erasure_epoch + 1 where s.tenant_id = tenant and s.id = any (owners);

    -- The decisions that hold no longer: those behind what is served now, and behind what these had superseded in turn.
    with recursive gone as (
        select m.candidate_id, m.retired_by, m.status
        from unnest(ids, versions) w (id, version)
        join memories m on m.tenant_id = tenant and m.id = w.id and m.version = w.version
    ), ended as (
        select g.candidate_id from gone g where g.status = 'active'
        union
        select g.candidate_id from ended e join gone g on g.retired_by = e.candidate_id
    )
    select coalesce(array_agg(e.candidate_id), '{}') into undone from ended e;

    update memories m set status = 'withdrawn', retired_at = coalesce(m.retired_at, now())
    from unnest(ids, versions) w (id, version) where m.tenant_id = tenant and m.id = w.id and m.version = w.version;
    delete from memory_embeddings e using unnest(ids, versions) w (id, version)
    where e.tenant_id = tenant and e.scope_id = any (owners) and e.memory_id = w.id and e.version = w.version;
    delete from embedding_pending p using unnest(ids, versions) w (id, version)
    where p.tenant_id = tenant and p.memory_id = w.id and p.version = w.version;
    update candidates c
    set state = 'withdrawn', payload = null, decision = 'reject', reasons = array['withdrawn']
    where c.tenant_id = tenant and c.state = 'open'
      and (c.source_id = source or c.batch_id = batch or exists (
          select from jsonb_path_query(c.payload, '$.candidate.parents[*].id') parent
          where parent #>> '{}' = any (ids::text[])));
    return query
        select m.id, m.version, m.scope, m.scope_id, false
        from unnest(ids, versions) w (id, version)
        join memories m on m.tenant_id = tenant and m.id = w.id and m.version = w.version
        order by m.id, m.version;

    return query
        with back as (
            select distinct on (m.scope, m.scope_id, m.text_hash) m.id, m.version
            from memories m
            where m.tenant_id = tenant and m.status = 'superseded' and m.scope_id = any (owners)
              and m.retired_by = any (undone)
              and m.version = (select max(n.version) from memories n
                               where n.tenant_id = tenant and n.id = m.id and n.status <> 'withdrawn')
              and not exists (select from memories a
                              where a.tenant_id = tenant and a.scope = m.scope and a.scope_id = m.scope_id
                                and (a.id = m.id or a.text_hash = m.text_hash) and a.status = 'active')
            order by m.scope, m.scope_id, m.text_hash, m.recorded_at desc, m.id desc
        ), served as (
            update memories m set status = 'active', retired_at = null, retired_by = null
            from back b where m.tenant_id = tenant and m.id = b.id and m.version = b.version
            returning m.id, m.version, m.scope, m.scope_id
        ), queued as (
            insert into embedding_pending (tenant_id, subject_id, scope, memory_id, version, model_id)
            select tenant, s.scope_id, s.scope, s.id, s.version, e.id
            from served s cross join embedding_models e
            where e.state in ('serving', 'building') on conflict do nothing
        )
        select s.id, s.version, s.scope, s.scope_id, true from served s order by s.id, s.version;
end
$$;
revoke all on function ingatan_withdraw(uuid, uuid) from public;
grant execute on function ingatan_withdraw(uuid, uuid) to ingatan_app;

-- A lock row stands for a person, an account or the organisation, whoever made it first: a person whose id equals an
-- account's finds no row that is theirs, and therefore neither writes nor erases anything, nor sees what was decided.
alter table subjects add column scope text not null default 'user'
    check (scope in ('user', 'account', 'organisation'));
alter table subjects alter column scope
    set default case when ingatan_power() in ('account', 'organisation') then ingatan_power() else 'user' end;
alter policy person on subjects
    using (tenant_id = ingatan_tenant() and id = ingatan_subject() and scope = 'user' and ingatan_power() = 'person')
    with check (tenant_id = ingatan_tenant() and id = ingatan_subject() and scope = 'user'
                and ingatan_power() = 'person');
alter policy common_owner on subjects
    using (tenant_id = ingatan_tenant() and id = ingatan_subject() and scope = ingatan_power()
           and ingatan_power() in ('account', 'organisation'))
    with check (tenant_id = ingatan_tenant() and id = ingatan_subject() and scope = ingatan_power()
                and ingatan_power() in ('account', 'organisation'));
alter policy person on candidates
    using (tenant_id = ingatan_tenant() and subject_id = ingatan_subject() and scope = 'user'
           and ingatan_power() = 'person')
    with check (tenant_id = ingatan_tenant() and subject_id = ingatan_subject() and scope = 'user'
                and ingatan_power() = 'person');
alter policy common_owner on candidates
    using (tenant_id = ingatan_tenant() and subject_id = ingatan_subject() and scope = ingatan_power()
           and ingatan_power() in ('account', 'organisation'))
    with check (tenant_id = ingatan_tenant() and subject_id = ingatan_subject() and scope = ingatan_power()
                and ingatan_power() in ('account', 'organisation'));
