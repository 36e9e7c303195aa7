-- What was remembered before there were marks: jobs list whose it is, and the service, which has the key, marks it.
grant select (scope, marks) on memories to ingatan_jobs;
create index memories_unmarked on memories (tenant_id, scope_id) where marks = '{}';

-- All of one person in one tenant, as DELETE /memories does it, also where nothing is remembered of them yet: what they
-- said before is not learned from any more. How many versions went. A receipt and an audit row stay in any case.
create function ingatan_erase_person(tenant uuid, person uuid) returns integer
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    erased integer := 0;
    decisions integer;
    receipt_id uuid;
    one record;
begin
    insert into subjects (tenant_id, id) values (tenant, person) on conflict do nothing;
    perform from subjects s where s.tenant_id = tenant and s.id = person for update;
    for one in
        select m.id, m.version from memories m where m.tenant_id = tenant and m.subject_id = person
        order by m.id, m.version
    loop
        if ingatan_erase_version(tenant, one.id, one.version) then
            erased := erased + 1;
        end if;
    end loop;

    delete from candidates c where c.tenant_id = tenant and c.subject_id = person;
    get diagnostics decisions = row_count;
    update conversation_askers a set skip_seq = a.last_seq where a.tenant_id = tenant and a.subject_id = person;
    update sweep_state w
    set done_seq = w.last_seq, attempts = 0, lease_until = null, fence = w.fence + 1
    where w.tenant_id = tenant and w.subject_id = person
      and not exists (
          select from conversation_askers a
          where a.tenant_id = tenant and a.conversation_id = w.conversation_id and a.subject_id <> person);
    delete from sweep_abandoned a using conversations c
    where a.tenant_id = tenant and c.tenant_id = tenant and c.id = a.conversation_id and c.user_id = person
      and not exists (
          select from conversation_askers o
          where o.tenant_id = tenant and o.conversation_id = a.conversation_id and o.subject_id <> person);
    update subjects s set erasure_epoch = erasure_epoch + 1 where s.tenant_id = tenant and s.id = person;

    if erased = 0 then
        receipt_id := ingatan_new_id();
        insert into erasures (tenant_id, id, subject_id, requested_by, reason, receipt)
        values (tenant, receipt_id, person, '00000000-0000-0000-0000-000000000000', 'administrator',
                jsonb_build_object('id', receipt_id, 'at', now(), 'unreachable_at', now(), 'held', '[]'::jsonb,
                                   'sources_kept', '[]'::jsonb,
                                   'removed', jsonb_build_object('versions', 0, 'candidates', decisions)));
        insert into audit_pending (tenant_id, id, at, actor_id, action, entity_type, entity_id, details)
        values (tenant, ingatan_new_id(), clock_timestamp(), '00000000-0000-0000-0000-000000000000', 'memory_erasure',
                'user_memory', null,
                jsonb_build_object('reason', 'administrator', 'erasure_id', receipt_id, 'role', session_user::text,
                                   'removed', jsonb_build_object('versions', 0, 'candidates', decisions)));
    end if;
    return erased;
end
$$;

-- In every tenant that knows the person, by what is remembered, by consent, or by a turn.
create or replace function erase_user_memory("userId" uuid) returns integer
language sql security definer set search_path = pg_catalog, public, pg_temp
    return (
        select coalesce(sum(ingatan_erase_person(known.tenant_id, "userId")), 0)::integer
        from (select s.tenant_id from subjects s where s.id = "userId"
              union select a.tenant_id from conversation_askers a where a.subject_id = "userId"
              union select m.tenant_id from memories m where m.subject_id = "userId"
              order by 1) known
    );

revoke all on function ingatan_erase_person(uuid, uuid) from public;
