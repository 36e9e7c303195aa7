-- What stays of a candidate that waits no more; whose turn a reviewer's excerpt is of; what is served again in
-- whichever order sources are taken back; how much somebody brought who erased it, or about whom others bring much.

-- What its person wrote to the reviewer is for as long as it waits, like the text itself.
update candidates set appeal_note = null where state <> 'open';
alter table candidates add constraint candidates_appeal_note_only_while_open
    check (appeal_note is null or state = 'open');

-- As in 0011, and of an account's candidate around what the member said who proposed it.
create or replace function ingatan_review_excerpts(candidate uuid, characters integer)
    returns table (message_id uuid, quote text, before text, after text, said_at timestamptz)
language sql stable security definer set search_path = pg_catalog, public, pg_temp
as $$
    select m.id, e.quote,
           substr(m.content, greatest(1, e.at - e.around), e.at - greatest(1, e.at - e.around)),
           substr(m.content, e.at + length(e.quote), e.around),
           m.created_at
    from (
        select c.tenant_id, c.conversation_id, c.message_ids, cited.n,
               case c.scope when 'user' then c.subject_id
                            else (c.payload -> 'candidate' ->> 'said_by')::uuid end as speaker_id,
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
    where m.id = any(waiting.message_ids) and m.author_id = waiting.speaker_id and m.role = 'user'
      and not m.off_record and v.hidden_at is null and e.quote <> '' and e.at > 0
    order by waiting.n
$$;

-- As in 0011; what was written to the reviewer goes too.
create or replace function ingatan_expire_candidates(moment timestamptz, most integer)
    returns table (id uuid, subject_id uuid)
language sql volatile security definer set search_path = pg_catalog, public, pg_temp
as $$
    update candidates c
    set state = 'expired', payload = null, appeal_note = null, decision = 'reject',
        proposed_reasons = coalesce(c.proposed_reasons, c.reasons), reasons = '{not_reviewed_in_time}'
    from (
        select w.id from candidates w
        where w.tenant_id = ingatan_tenant() and w.state = 'open' and w.expires_at <= moment and ingatan_power() = 'job'
        order by w.expires_at, w.id limit least(most, 1000) for update skip locked
    ) ending
    where c.tenant_id = ingatan_tenant() and c.id = ending.id
    returning c.id, c.subject_id
$$;

-- As in 0010; what was superseded by something withdrawn earlier, and that by what is withdrawn now, is served again.
create or replace function ingatan_withdraw(source uuid, batch uuid)
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

    -- The decisions that hold no longer: those behind what is served now, and behind what these had superseded in turn,
    -- also where that was withdrawn before.
    with recursive gone as materialized (
        select m.candidate_id, m.retired_by, m.status from memories m
        where m.tenant_id = tenant and m.scope_id = any (owners)
          and (m.status = 'withdrawn'
               or (m.id, m.version) in (select w.id, w.version from unnest(ids, versions) w (id, version)))
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
    set state = 'withdrawn', payload = null, appeal_note = null, decision = 'reject', reasons = array['withdrawn'],
        proposed_reasons = coalesce(c.proposed_reasons, c.reasons)
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

-- How many of the candidates that went with an erasure whoever asked for it had brought within the hour before: a share
-- that is used up is not had again by erasing. And what others bring about a person takes nothing of what they may say
-- themselves, nor the reverse.
alter table erasures add column brought integer not null default 0;
create index erasures_brought on erasures (tenant_id, at) where brought > 0;
create or replace function ingatan_brought(writer uuid, subject uuid, source uuid, moment timestamptz)
    returns table (by_writer integer, by_subject integer, by_source integer, oldest_at timestamptz)
language sql stable security definer set search_path = pg_catalog, public, pg_temp
as $$
    select w.n + e.by_writer, s.n + e.by_subject, o.n, w.oldest_at
    from (select count(*)::integer as n, min(c.created_at) as oldest_at from candidates c
          where c.tenant_id = ingatan_tenant() and c.writer_id = writer and c.source_id is null
            and c.created_at > moment) w,
         (select count(*)::integer as n from candidates c
          where c.tenant_id = ingatan_tenant() and c.subject_id = subject and c.created_at > moment
            and (c.writer_id = subject) = (writer = subject)) s,
         (select count(*)::integer as n from candidates c
          where c.tenant_id = ingatan_tenant() and c.source_id = source and c.created_at > moment) o,
         (select coalesce(sum(r.brought) filter (where r.requested_by = writer), 0)::integer as by_writer,
                 coalesce(sum(r.brought) filter (
                     where r.subject_id = subject and (r.requested_by = subject) = (writer = subject)
                 ), 0)::integer as by_subject
          from erasures r
          where r.tenant_id = ingatan_tenant() and r.brought > 0 and r.at > moment) e
$$;

-- What a service brings for a source counts as the source's, whose share is the larger; its own is what it brings itself.
create or replace function ingatan_unusual(moment timestamptz, actors integer, subjects integer, sources integer,
                                           changes integer, contradictions integer, people integer)
    returns table (kind text, key uuid, n integer)
language sql stable security definer set search_path = pg_catalog, public, pg_temp
as $$
    with lately as materialized (
        select c.writer_id, c.subject_id, c.source_id, c.decision, c.reasons, c.memory_id,
               c.created_at > moment - interval '1 hour' as this_hour
        from candidates c
        where c.tenant_id = ingatan_tenant() and c.created_at > moment - interval '1 day' and ingatan_power() = 'job'
    )
    select 'actor_volume', l.writer_id, count(*)::integer from lately l
    where l.this_hour and l.source_id is null group by 2 having count(*) >= actors
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
