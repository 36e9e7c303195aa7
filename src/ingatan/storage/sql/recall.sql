-- name: recall.eligible
-- Everything the caller may be reminded of, with the similarity to the question where a vector exists. Always at least
-- one row: it carries consent, and a null id when there is nothing.
select coalesce(s.consent, 'unset') as consent, m.id, m.type, m.text, m.language, m.importance, m.trust, m.source_kind,
       m.conversation_id, m.source_erased, extract(epoch from m.effective_at)::float8 as effective_at,
       extract(epoch from m.confirmed_at)::float8 as confirmed_at,
       1 - (e.v <=> %(vector)s::halfvec) as similarity
from (select 1) as one
left join subjects s on s.tenant_id = %(tenant_id)s and s.id = %(subject_id)s
left join memories m
    on m.tenant_id = %(tenant_id)s and m.scope = 'user' and m.scope_id = %(subject_id)s and m.status = 'active'
    and m.type = any(%(types)s) and m.trust <> 'unverified' and (m.expires_at is null or m.expires_at > now())
left join memory_embeddings e
    on e.tenant_id = m.tenant_id and e.scope_id = m.scope_id and e.model_id = %(model_id)s
    and e.memory_id = m.id and e.version = m.version;
