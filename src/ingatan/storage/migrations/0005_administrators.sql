-- The administrators' side (S1): two views under the names they know, and erasing by SQL that leaves nothing behind.
-- The views and functions belong to the owner of the tables, who gets policies for them; a DBA has only the views.

do $$
begin
    if to_regrole('ingatan_dba') is null then
        create role ingatan_dba nologin;
    end if;
exception
    when duplicate_object or unique_violation then
        null;  -- another database of this cluster migrates at the same moment
    when insufficient_privilege then
        raise exception 'The role ingatan_dba is missing, and this role may not create it.'
            using hint = 'Run as administrator: create role ingatan_dba;';
end
$$;

-- The keyed marks under which an erased memory is recognised, made when it is written: SQL has no key to make them with.
alter table memories add column marks bytea[] not null default '{}';
alter table memories alter column marks set statistics 0;

do $$
declare
    name text;
begin
    foreach name in array array[
        'subjects', 'conversations', 'conversation_askers', 'sweep_state', 'sweep_abandoned', 'memories', 'memory_evidence',
        'memory_uses',
        'memory_embeddings', 'embedding_pending', 'candidates', 'erased_texts', 'erasures', 'audit_log', 'audit_pending'
    ] loop
        execute format('create policy owner on %I to %I using (true) with check (true)', name, current_user);
    end loop;
end
$$;

create view user_memory as
select m.id,
       m.version,
       m.tenant_id as "tenantId",
       m.subject_id as "userId",
       m.type,
       m.text,
       serving.v as embedding,
       m.importance,
       m.status,
       m.conversation_id as "sourceConversationId",
       coalesce(cited.ids, '{}') as "sourceMessageIds",
       m.recorded_at as "createdAt",
       m.confirmed_at as "updatedAt",
       m.expires_at as "expiresAt"
from memories m
left join lateral (
    select e.v from memory_embeddings e
    where e.tenant_id = m.tenant_id and e.scope_id = m.scope_id and e.memory_id = m.id and e.version = m.version
      and e.model_id = (select s.id from embedding_models s where s.state = 'serving')
) serving on true
left join lateral (
    select array_agg(q.message_id order by q.n) as ids from memory_evidence q
    where q.tenant_id = m.tenant_id and q.memory_id = m.id and q.version = m.version
) cited on true;

create view ai_engine_audit_log as
select id,
       tenant_id as "tenantId",
       seq,
       at as "createdAt",
       actor_id as "actorId",
       action,
       entity_type as "entityType",
       entity_id as "entityId",
       details
from audit_log;

-- A version-7 UUID, on servers that have no function for it yet.
create function ingatan_new_id() returns uuid language sql volatile set search_path = pg_catalog, pg_temp
    return (
        select encode(set_byte(made.bytes, 6, (get_byte(made.bytes, 6) & 15) | 112), 'hex')::uuid
        from (
            select overlay(uuid_send(gen_random_uuid())
                           placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
                           from 1 for 6) as bytes
        ) made
    );

-- Erase one version of a memory, and all that hangs on it. The same lock, epoch, marks, receipt and audit row as an
-- erasure through the service; one receipt a person and transaction. False if there is no such version.
create function ingatan_erase_version(tenant uuid, memory uuid, which integer) returns boolean
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    gone memories%rowtype;
    cited uuid[];
    quotes integer;
    vectors integer;
    decisions integer;
    removed jsonb;
    receipt_id uuid;
begin
    perform from subjects s join memories m on m.tenant_id = s.tenant_id and m.subject_id = s.id
    where m.tenant_id = tenant and m.id = memory and m.version = which for update of s;
    select * into gone from memories m where m.tenant_id = tenant and m.id = memory and m.version = which for update;
    if not found then
        return false;
    end if;

    select coalesce(array_agg(distinct q.message_id), '{}') into cited
    from memory_evidence q where q.tenant_id = tenant and q.memory_id = memory and q.version = which;
    insert into erased_texts (tenant_id, subject_id, digest)
    select tenant, gone.subject_id, mark from unnest(gone.marks) as mark
    on conflict (tenant_id, subject_id, digest) do update set at = now();

    delete from memory_evidence q where q.tenant_id = tenant and q.memory_id = memory and q.version = which;
    get diagnostics quotes = row_count;
    delete from memory_embeddings e
    where e.tenant_id = tenant and e.scope_id = gone.scope_id and e.memory_id = memory and e.version = which;
    get diagnostics vectors = row_count;
    delete from embedding_pending p where p.tenant_id = tenant and p.memory_id = memory and p.version = which;
    delete from candidates c
    where c.tenant_id = tenant and c.subject_id = gone.subject_id
      and (c.id = gone.candidate_id or c.message_ids && cited);
    get diagnostics decisions = row_count;
    delete from memories m where m.tenant_id = tenant and m.id = memory and m.version = which;
    if not exists (select from memories m where m.tenant_id = tenant and m.id = memory) then
        delete from memory_uses u where u.tenant_id = tenant and u.memory_id = memory;
        delete from candidates c where c.tenant_id = tenant and c.memory_id = memory;
    end if;

    update subjects s set erasure_epoch = erasure_epoch + 1 where s.tenant_id = tenant and s.id = gone.subject_id;
    if not exists (select from memories m where m.tenant_id = tenant and m.subject_id = gone.subject_id) then
        -- The last one: all of the person's, as DELETE /memories does it.
        delete from candidates c where c.tenant_id = tenant and c.subject_id = gone.subject_id;
        update conversation_askers a set skip_seq = a.last_seq
        where a.tenant_id = tenant and a.subject_id = gone.subject_id;
        update sweep_state w
        set done_seq = w.last_seq, attempts = 0, lease_until = null, fence = w.fence + 1
        where w.tenant_id = tenant and w.subject_id = gone.subject_id
          and not exists (
              select from conversation_askers a
              where a.tenant_id = tenant and a.conversation_id = w.conversation_id
                and a.subject_id <> gone.subject_id);
        delete from sweep_abandoned a using conversations c
        where a.tenant_id = tenant and c.tenant_id = tenant and c.id = a.conversation_id
          and c.user_id = gone.subject_id;
    end if;

    removed := jsonb_build_object('versions', 1, 'quotes', quotes, 'vectors', vectors, 'candidates', decisions);
    select e.id into receipt_id from erasures e
    where e.tenant_id = tenant and e.subject_id = gone.subject_id and e.reason = 'administrator' and e.at = now();
    if not found then
        receipt_id := ingatan_new_id();
        insert into erasures (tenant_id, id, subject_id, requested_by, reason, receipt)
        values (tenant, receipt_id, gone.subject_id, '00000000-0000-0000-0000-000000000000', 'administrator',
                jsonb_build_object('id', receipt_id, 'at', now(), 'unreachable_at', now(), 'held', '[]'::jsonb,
                                   'sources_kept', '[]'::jsonb, 'removed', '{}'::jsonb));
    end if;
    update erasures e
    set receipt = e.receipt
        || jsonb_build_object('removed', (
            select jsonb_object_agg(counted.key, counted.value::integer
                                    + coalesce((e.receipt -> 'removed' ->> counted.key)::integer, 0))
            from jsonb_each_text(removed) counted))
        || jsonb_build_object('sources_kept', (e.receipt -> 'sources_kept') || to_jsonb(cited))
    where e.tenant_id = tenant and e.id = receipt_id;

    insert into audit_pending (tenant_id, id, at, actor_id, action, entity_type, entity_id, details)
    values (tenant, ingatan_new_id(), clock_timestamp(), '00000000-0000-0000-0000-000000000000', 'memory_erasure',
            'user_memory', memory,
            jsonb_build_object('reason', 'administrator', 'erasure_id', receipt_id, 'role', session_user::text,
                               'version', which, 'removed', removed));
    return true;
end
$$;

create function ingatan_erase_through_view() returns trigger
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
begin
    return case when ingatan_erase_version(old."tenantId", old.id, old.version) then old end;
end
$$;

create trigger erase instead of delete on user_memory
    for each row execute function ingatan_erase_through_view();

-- The same for one person, where a view cannot have such a trigger (Citus). How many versions went.
create function erase_user_memory("userId" uuid) returns integer
language sql security definer set search_path = pg_catalog, public, pg_temp
    return (
        select count(*)::integer
        from (select m.tenant_id, m.id, m.version from memories m where m.subject_id = "userId" order by m.id) one
        where ingatan_erase_version(one.tenant_id, one.id, one.version)
    );

revoke all on function ingatan_erase_version(uuid, uuid, integer), ingatan_erase_through_view(),
    erase_user_memory(uuid), ingatan_new_id() from public;
grant select, delete on user_memory to ingatan_dba;
grant select on ai_engine_audit_log to ingatan_dba;
grant execute on function erase_user_memory(uuid) to ingatan_dba;
