-- The review queue: a bounded excerpt around each quote, the end of what nobody reviewed, how much was brought lately,
-- alerts. What waits goes with what is erased, by SQL too.

-- What the policy said before a reviewer's verdict took the place of its reasons.
alter table candidates add column proposed_reasons text[];
create index candidates_recent on candidates (tenant_id, created_at);
create index candidates_source on candidates (tenant_id, source_id, created_at) where source_id is not null;
create index candidates_ending on candidates (tenant_id, expires_at) where state = 'open';
create index candidates_reviewed on candidates (tenant_id, reviewed_at) where reviewed_at is not null;

-- What stands around each quote of an open candidate in the turn it cites: in all at most ``characters`` more than the
-- quote, of the person's own turns only, and nothing from a conversation that is deleted or was off the record. Turns
-- are out of a reviewer's reach; the owner reads these for them.
create policy review_excerpts on messages for select to current_user
    using (tenant_id = ingatan_tenant() and ingatan_power() = 'review');
create function ingatan_review_excerpts(candidate uuid, characters integer)
    returns table (message_id uuid, quote text, before text, after text, said_at timestamptz)
language sql stable security definer set search_path = pg_catalog, public, pg_temp
as $$
    select m.id, e.quote,
           substr(m.content, greatest(1, e.at - e.around), e.at - greatest(1, e.at - e.around)),
           substr(m.content, e.at + length(e.quote), e.around),
           m.created_at
    from (
        select c.tenant_id, c.subject_id, c.conversation_id, c.message_ids, cited.n,
               (cited.value ->> 'message_id')::uuid as message_id, cited.value ->> 'quote' as quote
        from candidates c
        cross join lateral jsonb_array_elements(c.payload -> 'candidate' -> 'evidence') with ordinality cited(value, n)
        where c.tenant_id = ingatan_tenant() and c.id = candidate and c.state = 'open' and ingatan_power() = 'review'
    ) waiting
    join messages m on m.tenant_id = waiting.tenant_id and m.id = waiting.message_id
        and m.conversation_id = waiting.conversation_id
    join conversations v on v.tenant_id = m.tenant_id and v.id = m.conversation_id
    cross join lateral (
        select waiting.quote, position(waiting.quote in m.content) as at,
               least(greatest(characters, 0), 2000) / 2 as around
    ) e
    where m.id = any(waiting.message_ids) and m.author_id = waiting.subject_id and m.role = 'user'
      and not m.off_record and v.hidden_at is null and e.quote <> '' and e.at > 0
    order by waiting.n
$$;

-- What nobody reviewed in time keeps nothing of itself. Up to ``most`` at once, whose it was; for the job alone.
create function ingatan_expire_candidates(moment timestamptz, most integer)
    returns table (id uuid, subject_id uuid)
language sql volatile security definer set search_path = pg_catalog, public, pg_temp
as $$
    update candidates c
    set state = 'expired', payload = null, decision = 'reject',
        proposed_reasons = coalesce(c.proposed_reasons, c.reasons), reasons = '{not_reviewed_in_time}'
    from (
        select w.id from candidates w
        where w.tenant_id = ingatan_tenant() and w.state = 'open' and w.expires_at <= moment and ingatan_power() = 'job'
        order by w.expires_at, w.id limit least(most, 1000) for update skip locked
    ) ending
    where c.tenant_id = ingatan_tenant() and c.id = ending.id
    returning c.id, c.subject_id
$$;

-- How many candidates a writer, a subject and a source brought since ``moment``, and when the writer's oldest of them
-- was. Counts only; the writer's are brought across people, whom they do not see.
create function ingatan_brought(writer uuid, subject uuid, source uuid, moment timestamptz)
    returns table (by_writer integer, by_subject integer, by_source integer, oldest_at timestamptz)
language sql stable security definer set search_path = pg_catalog, public, pg_temp
as $$
    select w.n, s.n, o.n, w.oldest_at
    from (select count(*)::integer as n, min(c.created_at) as oldest_at from candidates c
          where c.tenant_id = ingatan_tenant() and c.writer_id = writer and c.created_at > moment) w,
         (select count(*)::integer as n from candidates c
          where c.tenant_id = ingatan_tenant() and c.subject_id = subject and c.created_at > moment) s,
         (select count(*)::integer as n from candidates c
          where c.tenant_id = ingatan_tenant() and c.source_id = source and c.created_at > moment) o
$$;

-- Whatever in the last hour or day is more than usual, by kind and key; no content. For the job alone.
create function ingatan_unusual(moment timestamptz, actors integer, subjects integer, sources integer, changes integer,
                                contradictions integer, people integer)
    returns table (kind text, key uuid, n integer)
language sql stable security definer set search_path = pg_catalog, public, pg_temp
as $$
    with lately as materialized (
        select c.writer_id, c.subject_id, c.source_id, c.decision, c.reasons, c.memory_id,
               c.created_at > moment - interval '1 hour' as this_hour
        from candidates c
        where c.tenant_id = ingatan_tenant() and c.created_at > moment - interval '1 day' and ingatan_power() = 'job'
    )
    select 'actor_volume', l.writer_id, count(*)::integer from lately l where l.this_hour
    group by 2 having count(*) >= actors
    union all
    select 'subject_volume', l.subject_id, count(*)::integer from lately l where l.this_hour
    group by 2 having count(*) >= subjects
    union all
    select 'source_volume', l.source_id, count(*)::integer from lately l where l.this_hour and l.source_id is not null
    group by 2 having count(*) >= sources
    union all
    select 'churn', l.subject_id, count(*)::integer from lately l
    where l.decision = 'accept' and not l.reasons && '{duplicate,renewed}' group by 2 having count(*) >= changes
    union all
    select 'contradictions', l.subject_id, count(*)::integer from lately l
    where l.reasons && '{contradiction,conflict}' group by 2 having count(*) >= contradictions
    union all
    select 'source_spread', l.source_id, count(distinct l.subject_id)::integer from lately l
    where l.source_id is not null group by 2 having count(distinct l.subject_id) >= people
$$;
revoke all on function ingatan_review_excerpts(uuid, integer), ingatan_expire_candidates(timestamptz, integer),
    ingatan_brought(uuid, uuid, uuid, timestamptz),
    ingatan_unusual(timestamptz, integer, integer, integer, integer, integer, integer) from public;
grant execute on function ingatan_review_excerpts(uuid, integer), ingatan_expire_candidates(timestamptz, integer),
    ingatan_brought(uuid, uuid, uuid, timestamptz),
    ingatan_unusual(timestamptz, integer, integer, integer, integer, integer, integer) to ingatan_app;

-- Once a kind, key and day (UTC).
create table alerts (
    tenant_id uuid not null,
    id uuid not null,
    kind text not null,
    key uuid not null,
    day date not null,
    n integer not null,
    at timestamptz not null default now(),
    primary key (tenant_id, kind, key, day)
);
create index alerts_at on alerts (tenant_id, at desc, id desc);
alter table alerts enable row level security;
alter table alerts force row level security;
create policy watch_reads on alerts for select to ingatan_app
    using (tenant_id = ingatan_tenant() and ingatan_power() in ('admin', 'audit'));
create policy job_raises on alerts for insert to ingatan_app
    with check (tenant_id = ingatan_tenant() and ingatan_power() = 'job');
create policy owner on alerts to current_user using (true) with check (true);
grant select, insert on alerts to ingatan_app;

-- Erasing one version by SQL (0005) takes along what waits for a reviewer and says the same, or would replace it.
create or replace function ingatan_erase_version(tenant uuid, memory uuid, which integer) returns boolean
language plpgsql security definer set search_path = pg_catalog, public, pg_temp as $$
declare
    gone memories%rowtype;
    cited uuid[];
    quotes integer;
    vectors integer;
    decisions integer;
    removed jsonb;
    receipt_id uuid;
    gone_marks text[];
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

    select coalesce(array_agg(encode(mark, 'hex')), '{}') into gone_marks from unnest(gone.marks) as mark;
    delete from memory_evidence q where q.tenant_id = tenant and q.memory_id = memory and q.version = which;
    get diagnostics quotes = row_count;
    delete from memory_embeddings e
    where e.tenant_id = tenant and e.scope_id = gone.scope_id and e.memory_id = memory and e.version = which;
    get diagnostics vectors = row_count;
    delete from embedding_pending p where p.tenant_id = tenant and p.memory_id = memory and p.version = which;
    delete from candidates c
    where c.tenant_id = tenant and c.subject_id = gone.subject_id
      and (c.id = gone.candidate_id or c.message_ids && cited
           or (c.state = 'open' and (c.payload -> 'candidate' ->> 'target_id' = memory::text
                                     or c.payload -> 'marks' ?| gone_marks)));
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
