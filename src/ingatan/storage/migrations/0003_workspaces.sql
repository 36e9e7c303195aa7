-- Workspaces: people who read and continue the same conversations, and who asked in which.

create table workspaces (
    tenant_id uuid not null,
    id uuid not null,
    name text not null,
    owner_id uuid not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    deleted_at timestamptz,
    primary key (tenant_id, id)
);
create index workspaces_owner on workspaces (tenant_id, owner_id) where deleted_at is null;
alter table workspaces alter column name set statistics 0;

create table workspace_members (
    tenant_id uuid not null,
    workspace_id uuid not null,
    subject_id uuid not null,
    role text not null check (role in ('owner', 'member')),
    added_at timestamptz not null default now(),
    primary key (tenant_id, workspace_id, subject_id),
    foreign key (tenant_id, workspace_id) references workspaces (tenant_id, id) on delete cascade
);
create index workspace_members_subject on workspace_members (tenant_id, subject_id, workspace_id);

alter table conversations add column workspace_id uuid;
alter table conversations add foreign key (tenant_id, workspace_id) references workspaces (tenant_id, id);
create index conversations_workspace on conversations (tenant_id, workspace_id, id desc)
    where workspace_id is not null and hidden_at is null;

-- Content-free: who asked in which conversation, up to which position, and up to where nothing is learned any more.
create table conversation_askers (
    tenant_id uuid not null,
    conversation_id uuid not null,
    subject_id uuid not null,
    last_seq integer not null,
    skip_seq integer not null default 0,
    primary key (tenant_id, conversation_id, subject_id),
    foreign key (tenant_id, conversation_id) references conversations (tenant_id, id) on delete cascade
);
create index conversation_askers_subject on conversation_askers (tenant_id, subject_id);

alter table messages no force row level security;
insert into conversation_askers (tenant_id, conversation_id, subject_id, last_seq)
select tenant_id, conversation_id, author_id, max(seq) from messages
where author_id is not null and role = 'user' group by tenant_id, conversation_id, author_id;
alter table messages force row level security;

-- The lane scoped by an allowlist holds a person with a lease of its own, so that it never delays the other one.
alter table subjects add column scoped_lease_until timestamptz;

do $$
declare
    name text;
begin
    foreach name in array array['workspaces', 'workspace_members', 'conversation_askers'] loop
        execute format('alter table %I enable row level security', name);
        execute format('alter table %I force row level security', name);
    end loop;
end
$$;

-- The workspaces that the acting person is a member of at this moment. A policy on the membership table cannot ask that
-- table itself (endless recursion), so the owner reads it here, and by its policy only the acting person's own rows.
create policy membership on workspace_members for select to current_user
    using (tenant_id = ingatan_tenant() and subject_id = ingatan_subject());
create function ingatan_workspaces() returns uuid[] language sql stable security definer parallel safe
    set search_path = pg_catalog, pg_temp
    begin atomic
        select coalesce(array_agg(m.workspace_id), '{}') from workspace_members m
        where m.tenant_id = ingatan_tenant() and m.subject_id = ingatan_subject() and ingatan_power() = 'person';
    end;
revoke all on function ingatan_workspaces() from public;
grant execute on function ingatan_workspaces() to ingatan_app;

-- A member sees the workspace and its members; its owner changes both; whoever is a member may leave.
create policy person_reads on workspaces for select to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'person'
           and (id = any ((select ingatan_workspaces())::uuid[]) or owner_id = ingatan_subject()));
create policy person_makes on workspaces for insert to ingatan_app
    with check (tenant_id = ingatan_tenant() and owner_id = ingatan_subject() and ingatan_power() = 'person');
create policy owner_changes on workspaces for update to ingatan_app
    using (tenant_id = ingatan_tenant() and owner_id = ingatan_subject() and ingatan_power() = 'person')
    with check (tenant_id = ingatan_tenant() and owner_id = ingatan_subject() and ingatan_power() = 'person');
create policy person_reads on workspace_members for select to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'person'
           and (subject_id = ingatan_subject() or workspace_id = any ((select ingatan_workspaces())::uuid[])));
create policy owner_adds on workspace_members for insert to ingatan_app
    with check (tenant_id = ingatan_tenant() and ingatan_power() = 'person' and exists (
        select from workspaces w
        where w.tenant_id = workspace_members.tenant_id and w.id = workspace_members.workspace_id
          and w.owner_id = ingatan_subject() and w.deleted_at is null));
create policy owner_removes on workspace_members for delete to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'person' and (subject_id = ingatan_subject() or exists (
        select from workspaces w
        where w.tenant_id = workspace_members.tenant_id and w.id = workspace_members.workspace_id
          and w.owner_id = ingatan_subject())));

-- A conversation outside a workspace is its maker's; inside one it is read by its members of this moment, the maker only
-- as long as they are one. Who is no longer a member sees nothing from the next statement on.
drop policy person on conversations;
create policy person_reads on conversations for select to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'person'
           and ((workspace_id is null and user_id = ingatan_subject())
                or workspace_id = any ((select ingatan_workspaces())::uuid[])));
create policy person_makes on conversations for insert to ingatan_app
    with check (tenant_id = ingatan_tenant() and user_id = ingatan_subject() and ingatan_power() = 'person'
                and (workspace_id is null or workspace_id = any ((select ingatan_workspaces())::uuid[])));
create policy person_changes on conversations for update to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'person'
           and ((workspace_id is null and user_id = ingatan_subject())
                or workspace_id = any ((select ingatan_workspaces())::uuid[])))
    with check (tenant_id = ingatan_tenant() and ingatan_power() = 'person'
                and ((workspace_id is null and user_id = ingatan_subject())
                     or workspace_id = any ((select ingatan_workspaces())::uuid[])));
create policy keeper_deletes on conversations for delete to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'person'
           and ((workspace_id is null and user_id = ingatan_subject())
                or (workspace_id = any ((select ingatan_workspaces())::uuid[])
                    and (user_id = ingatan_subject() or exists (
                        select from workspaces w
                        where w.tenant_id = conversations.tenant_id and w.id = conversations.workspace_id
                          and w.owner_id = ingatan_subject())))));

-- Members append, which moves a conversation's position; title, flags, metadata and view are its maker's or the
-- workspace owner's. Nobody moves a conversation between workspaces. Without a scope it is an administrator who acts.
create function ingatan_guard_conversation() returns trigger language plpgsql
    set search_path = pg_catalog, public, pg_temp as $$
begin
    if ingatan_power() = '' then
        return new;
    end if;
    if new.workspace_id is distinct from old.workspace_id or new.user_id <> old.user_id then
        raise insufficient_privilege using message = 'a conversation stays where it is and whose it is';
    end if;
    if old.user_id = ingatan_subject() or exists (
        select from workspaces w
        where w.tenant_id = old.tenant_id and w.id = old.workspace_id and w.owner_id = ingatan_subject()
    ) then
        return new;
    end if;
    if (new.title <> old.title and old.title <> '') or new.metadata <> old.metadata
        or new.off_record <> old.off_record or new.hidden_at is distinct from old.hidden_at
    then
        raise insufficient_privilege using message = 'only its maker or the owner of the workspace changes a conversation';
    end if;
    return new;
end
$$;
create trigger guard before update on conversations for each row
    when (old.workspace_id is not null or new.workspace_id is not null) execute function ingatan_guard_conversation();

-- Turns: read by whoever sees the conversation, appended by them in their own name, changed by nobody else.
drop policy person on messages;
create policy person_reads on messages for select to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'person' and exists (
        select from conversations c where c.tenant_id = messages.tenant_id and c.id = messages.conversation_id));
create policy person_appends on messages for insert to ingatan_app
    with check (tenant_id = ingatan_tenant() and ingatan_power() = 'person'
                and coalesce(author_id, ingatan_subject()) = ingatan_subject() and exists (
        select from conversations c where c.tenant_id = messages.tenant_id and c.id = messages.conversation_id));
create policy keeper_changes on messages for update to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'person' and exists (
        select from conversations c
        where c.tenant_id = messages.tenant_id and c.id = messages.conversation_id and c.user_id = ingatan_subject()))
    with check (tenant_id = ingatan_tenant() and ingatan_power() = 'person');
create policy keeper_deletes on messages for delete to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'person' and exists (
        select from conversations c left join workspaces w on w.tenant_id = c.tenant_id and w.id = c.workspace_id
        where c.tenant_id = messages.tenant_id and c.id = messages.conversation_id
          and ingatan_subject() in (c.user_id, w.owner_id)));

-- Who asked: seen with the conversation, written by each for themselves; what is skipped, even when it is out of sight.
create policy person_reads on conversation_askers for select to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'person' and (subject_id = ingatan_subject() or exists (
        select from conversations c
        where c.tenant_id = conversation_askers.tenant_id and c.id = conversation_askers.conversation_id)));
create policy person_asks on conversation_askers for insert to ingatan_app
    with check (tenant_id = ingatan_tenant() and subject_id = ingatan_subject() and ingatan_power() = 'person'
                and exists (
        select from conversations c
        where c.tenant_id = conversation_askers.tenant_id and c.id = conversation_askers.conversation_id));
create policy person_skips on conversation_askers for update to ingatan_app
    using (tenant_id = ingatan_tenant() and subject_id = ingatan_subject() and ingatan_power() = 'person')
    with check (tenant_id = ingatan_tenant() and subject_id = ingatan_subject() and ingatan_power() = 'person');

-- Sweep state is content-free and goes with the conversation: whoever appends notes that there is something new.
drop policy person on sweep_state;
create policy person on sweep_state to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'person' and exists (
        select from conversations c
        where c.tenant_id = sweep_state.tenant_id and c.id = sweep_state.conversation_id))
    with check (tenant_id = ingatan_tenant() and ingatan_power() = 'person' and exists (
        select from conversations c
        where c.tenant_id = sweep_state.tenant_id and c.id = sweep_state.conversation_id));
drop policy person on sweep_abandoned;
create policy person on sweep_abandoned to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'person' and exists (
        select from conversations c
        where c.tenant_id = sweep_abandoned.tenant_id and c.id = sweep_abandoned.conversation_id))
    with check (tenant_id = ingatan_tenant() and ingatan_power() = 'person' and exists (
        select from conversations c
        where c.tenant_id = sweep_abandoned.tenant_id and c.id = sweep_abandoned.conversation_id));

-- A job inside one tenant: queueing abandoned spans again, with its audit row.
create policy job_reads on sweep_state for select to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'job');
create policy job_requeues on sweep_state for update to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'job')
    with check (tenant_id = ingatan_tenant() and ingatan_power() = 'job');
create policy job_reads on sweep_abandoned for select to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'job');
create policy job_requeues on sweep_abandoned for delete to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'job');
create policy jobs on conversation_askers for select to ingatan_jobs using (true);

-- How many ask in a conversation and how many read it, as the caller sees it (S1's two questions).
create view conversation_sharing with (security_invoker = true) as
select n.tenant_id, n.conversation_id, n.askers, n.members, n.askers > 1 or n.members > 1 as shared
from (
    select c.tenant_id, c.id as conversation_id,
           case when c.workspace_id is null then 1 else (
               select count(*)::integer from conversation_askers a
               where a.tenant_id = c.tenant_id and a.conversation_id = c.id) end as askers,
           case when c.workspace_id is null then 1 else (
               select count(*)::integer from workspace_members m
               where m.tenant_id = c.tenant_id and m.workspace_id = c.workspace_id) end as members
    from conversations c
) n;

grant select, insert, update (name, updated_at, deleted_at) on workspaces to ingatan_app;
grant select, insert, delete on workspace_members to ingatan_app;
grant select, insert, update on conversation_askers to ingatan_app;
grant select on conversation_sharing to ingatan_app;
grant select on conversation_askers to ingatan_jobs;
