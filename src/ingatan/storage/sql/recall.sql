-- name: recall.eligible
-- Everything the caller may be reminded of for these purposes: their own, their accounts' and the organisation's, with
-- the similarity to the question where a vector exists; if asked for, also what they told of events that nobody verified.
-- Always at least one row: it carries consent, and a null id when there is nothing.
select coalesce(s.consent, 'unset') as consent, m.id, m.type, m.slot, m.text, m.language, m.importance, m.trust,
       m.source_kind, case when m.scope = 'user' then m.conversation_id end as conversation_id, m.source_erased,
       extract(epoch from m.effective_at)::float8 as effective_at,
       extract(epoch from m.confirmed_at)::float8 as confirmed_at,
       1 - (e.v <=> %(vector)s::halfvec) as similarity
from (select 1) as one
left join subjects s on s.tenant_id = %(tenant_id)s and s.id = %(subject_id)s
left join memories m
    on m.tenant_id = %(tenant_id)s and m.scope_id = any (array(
        select a.account_id from account_members a
        where a.tenant_id = %(tenant_id)s and a.subject_id = %(subject_id)s) || array[%(subject_id)s, %(tenant_id)s])
    and m.purposes && %(purposes)s and m.status = 'active'
    and m.type = any(%(types)s) and (m.trust <> 'unverified'
         or %(unverified)s and m.type = 'episode' and m.scope = 'user' and m.source_kind in ('turn', 'self'))
    and (m.expires_at is null or m.expires_at > now())
left join memory_embeddings e
    on e.tenant_id = m.tenant_id and e.scope_id = m.scope_id and e.model_id = %(model_id)s
    and e.memory_id = m.id and e.version = m.version;

-- name: recall.eligible_used
-- As recall.eligible, with how often and when each was last used, for ranking s2.
select coalesce(s.consent, 'unset') as consent, m.id, m.type, m.slot, m.text, m.language, m.importance, m.trust,
       m.source_kind, case when m.scope = 'user' then m.conversation_id end as conversation_id, m.source_erased,
       extract(epoch from m.effective_at)::float8 as effective_at,
       extract(epoch from m.confirmed_at)::float8 as confirmed_at,
       1 - (e.v <=> %(vector)s::halfvec) as similarity,
       u.count as uses, extract(epoch from u.last_at)::float8 as used_at
from (select 1) as one
left join subjects s on s.tenant_id = %(tenant_id)s and s.id = %(subject_id)s
left join memories m
    on m.tenant_id = %(tenant_id)s and m.scope_id = any (array(
        select a.account_id from account_members a
        where a.tenant_id = %(tenant_id)s and a.subject_id = %(subject_id)s) || array[%(subject_id)s, %(tenant_id)s])
    and m.purposes && %(purposes)s and m.status = 'active'
    and m.type = any(%(types)s) and (m.trust <> 'unverified'
         or %(unverified)s and m.type = 'episode' and m.scope = 'user' and m.source_kind in ('turn', 'self'))
    and (m.expires_at is null or m.expires_at > now())
left join memory_embeddings e
    on e.tenant_id = m.tenant_id and e.scope_id = m.scope_id and e.model_id = %(model_id)s
    and e.memory_id = m.id and e.version = m.version
left join memory_uses u on u.tenant_id = m.tenant_id and u.memory_id = m.id;

-- name: recall.as_of
-- What the caller could be reminded of at a moment: recorded by then and not yet retired, but nothing that was closed on
-- request since, in any version. Only what is still active has a vector. Always at least one row, as recall.eligible.
select coalesce(s.consent, 'unset') as consent, m.id, m.type, m.slot, m.text, m.language, m.importance, m.trust,
       m.source_kind, case when m.scope = 'user' then m.conversation_id end as conversation_id, m.source_erased,
       extract(epoch from m.effective_at)::float8 as effective_at,
       extract(epoch from least(m.confirmed_at, %(as_of)s))::float8 as confirmed_at,
       1 - (e.v <=> %(vector)s::halfvec) as similarity, u.count as uses,
       extract(epoch from least(u.last_at, %(as_of)s))::float8 as used_at
from (select 1) as one
left join subjects s on s.tenant_id = %(tenant_id)s and s.id = %(subject_id)s
left join memories m
    on m.tenant_id = %(tenant_id)s and m.scope_id = any (array(
        select a.account_id from account_members a
        where a.tenant_id = %(tenant_id)s and a.subject_id = %(subject_id)s) || array[%(subject_id)s, %(tenant_id)s])
    and m.purposes && %(purposes)s and m.status not in ('deleted', 'withdrawn')
    and m.type = any(%(types)s) and (m.trust <> 'unverified'
         or %(unverified)s and m.type = 'episode' and m.scope = 'user' and m.source_kind in ('turn', 'self'))
    and m.recorded_at <= %(as_of)s
    and (m.retired_at is null or m.retired_at > %(as_of)s) and (m.expires_at is null or m.expires_at > %(as_of)s)
    and not exists (select from memories closed
                    where closed.tenant_id = m.tenant_id and closed.id = m.id and closed.status = 'deleted')
left join memory_embeddings e
    on e.tenant_id = m.tenant_id and e.scope_id = m.scope_id and e.model_id = %(model_id)s
    and e.memory_id = m.id and e.version = m.version
left join memory_uses u on u.tenant_id = m.tenant_id and u.memory_id = m.id;

-- name: recall.keeps_any
-- Whether anything at all is kept of the caller's own, or was at a moment, for whatever purpose and however sure.
select exists (
    select from memories m
    where m.tenant_id = %(tenant_id)s and m.scope_id = %(subject_id)s
      and (m.status = 'active' or %(as_of)s::timestamptz is not null and m.status not in ('deleted', 'withdrawn'))
      and m.recorded_at <= coalesce(%(as_of)s, m.recorded_at) and (m.retired_at is null or m.retired_at > %(as_of)s)
      and (m.expires_at is null or m.expires_at > coalesce(%(as_of)s, now()))) as any;
