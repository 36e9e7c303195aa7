-- name: registry.standing
-- The person's active memories, newest first; those that ran out too, which a restatement renews.
select id, version, subject_id, type, slot, text, language, importance, trust, status, source_kind, conversation_id,
       effective_at, recorded_at, confirmed_at, expires_at, scope, audience, classification, purposes, source_id,
       batch_id,
       coalesce(expires_at <= %(now)s, false) as ran_out
from memories
where tenant_id = %(tenant_id)s and scope = %(scope)s and scope_id = %(subject_id)s and status = 'active'
  and type = any(%(types)s)
order by recorded_at desc, id desc;

-- name: registry.page
-- The person's newest version of each memory in a status, newest first, after a (time, id) position.
select m.id, m.version, m.subject_id, m.type, m.slot, m.text, m.language, m.importance, m.trust, m.status,
       m.source_kind, m.conversation_id, m.effective_at, m.recorded_at, m.confirmed_at, m.expires_at, m.scope,
       m.audience, m.classification, m.purposes, m.source_id, m.batch_id
from memories m
where m.tenant_id = %(tenant_id)s and m.scope = %(scope)s and m.scope_id = %(subject_id)s and m.status = %(status)s
  and m.type = any(%(types)s)
  and (%(status)s <> 'active' or m.expires_at is null or m.expires_at > %(now)s)
  and (%(before_at)s::timestamptz is null
       or (m.recorded_at, m.id, m.version) < (%(before_at)s, %(before_id)s, %(before_version)s))
order by m.recorded_at desc, m.id desc, m.version desc limit %(limit)s;

-- name: registry.get
-- The active version of one memory of the caller, or none.
select id, version, subject_id, type, slot, text, language, importance, trust, status, source_kind, conversation_id,
       effective_at, recorded_at, confirmed_at, expires_at, scope, audience, classification, purposes, source_id,
       batch_id
from memories
where tenant_id = %(tenant_id)s and id = %(id)s and status = 'active' and type = any(%(types)s)
  and (expires_at is null or expires_at > now());

-- name: registry.owner
-- Whose a memory is that the caller may see, in any status.
select scope, scope_id from memories where tenant_id = %(tenant_id)s and id = %(id)s limit 1;

-- name: registry.history
-- Every version of a memory of the caller, of what it replaced under another id and of what replaced it, with the
-- decisions that wrote and closed each; newest first, bounded.
with recursive chain as (
    select m.id from memories m where m.tenant_id = %(tenant_id)s and m.id = %(id)s
    union
    select other.id
    from chain c
    join memories m on m.tenant_id = %(tenant_id)s and m.id = c.id
    join memories other
        on other.tenant_id = m.tenant_id and (other.retired_by = m.candidate_id or other.candidate_id = m.retired_by)
)
select m.id, m.version, m.subject_id, m.type, m.slot, m.text, m.language, m.importance, m.trust, m.status,
       m.source_kind, m.conversation_id, m.effective_at, m.recorded_at, m.confirmed_at, m.expires_at, m.scope,
       m.audience, m.classification, m.purposes, m.source_id, m.batch_id, m.policy_version,
       m.candidate_id, w.writer_id as written_by, w.reasons as written_for,
       m.retired_at, m.retired_by, r.writer_id as closed_by, r.reasons as closed_for
from memories m
left join candidates w on w.tenant_id = m.tenant_id and w.id = m.candidate_id
left join candidates r on r.tenant_id = m.tenant_id and r.id = m.retired_by
where m.tenant_id = %(tenant_id)s and m.id in (select id from chain) and m.type = any(%(types)s)
order by m.recorded_at desc, m.id desc, m.version desc limit %(limit)s;

-- name: registry.conflicts
-- Active memories of the person that give one single-valued slot different values, slot by slot.
select slot, array_agg(id order by id) as ids
from memories
where tenant_id = %(tenant_id)s and scope = %(scope)s and scope_id = %(subject_id)s and status = 'active'
  and type = any(%(types)s) and slot = any(%(slots)s) and (expires_at is null or expires_at > now())
group by slot having count(*) > 1 order by slot;

-- name: registry.evidence
-- The quotes behind versions, in order.
select memory_id, version, message_id, quote
from memory_evidence where tenant_id = %(tenant_id)s and memory_id = any(%(ids)s) order by memory_id, version, n;

-- name: registry.insert
-- One new active version. A second active row with the same text in the same scope is a conflict.
insert into memories (tenant_id, id, version, scope, scope_id, subject_id, type, slot, text, text_hash, language,
                      importance, trust, status, source_kind, source_id, batch_id, purposes, classification, audience,
                      conversation_id, candidate_id, policy_version, effective_at, expires_at, marks)
values (%(tenant_id)s, %(id)s, %(version)s, %(scope)s, %(subject_id)s, %(subject_id)s, %(type)s, %(slot)s, %(text)s,
        %(text_hash)s, %(language)s, %(importance)s, %(trust)s, 'active', %(source_kind)s, %(source_id)s, %(batch_id)s,
        %(purposes)s, %(classification)s, %(audience)s, %(conversation_id)s, %(candidate_id)s, %(policy_version)s,
        %(effective_at)s, %(expires_at)s, %(marks)s);

-- name: registry.start_counter
-- The counter of a memory's uses, kept through its versions.
insert into memory_uses (tenant_id, scope_id, memory_id, last_at)
values (%(tenant_id)s, %(subject_id)s, %(memory_id)s, now()) on conflict do nothing;

-- name: registry.insert_evidence
-- One quote of a version.
insert into memory_evidence (tenant_id, memory_id, version, n, message_id, quote)
values (%(tenant_id)s, %(memory_id)s, %(version)s, %(n)s, %(message_id)s, %(quote)s);

-- name: registry.insert_parent
-- One thing a version is derived from.
insert into memory_lineage (tenant_id, memory_id, version, parent_kind, parent_id)
values (%(tenant_id)s, %(memory_id)s, %(version)s, %(kind)s, %(parent_id)s) on conflict do nothing;

-- name: registry.trusts
-- How far active memories of the owner carry.
select trust from memories
where tenant_id = %(tenant_id)s and scope = %(scope)s and scope_id = %(subject_id)s and id = any(%(ids)s)
  and status = 'active';

-- name: registry.insert_vector
-- The vector of a version; repeating it changes nothing.
insert into memory_embeddings (tenant_id, scope_id, model_id, memory_id, version, v)
select m.tenant_id, m.scope_id, %(model_id)s, m.id, m.version, %(v)s
from memories m
where m.tenant_id = %(tenant_id)s and m.id = %(memory_id)s and m.version = %(version)s and m.status = 'active'
on conflict do nothing;

-- name: registry.await_vectors
-- The vectors of every model that serves or is built, but for the one just written, will be made later.
insert into embedding_pending (tenant_id, subject_id, scope, memory_id, version, model_id)
select %(tenant_id)s, %(subject_id)s, %(scope)s, %(memory_id)s, %(version)s, m.id
from embedding_models m
where m.state in ('serving', 'building') and m.id is distinct from %(model_id)s::smallint on conflict do nothing;

-- name: registry.drop_vectors
-- A version that is no longer served has no vector, of any model.
delete from memory_embeddings
where tenant_id = %(tenant_id)s and scope_id = %(subject_id)s and memory_id = %(id)s;

-- name: registry.drop_pending
-- Nor is one to be made.
delete from embedding_pending where tenant_id = %(tenant_id)s and memory_id = %(id)s;

-- name: registry.retire
-- Close the active version of a memory with a status, and note the candidate that led to it.
update memories set status = %(status)s, retired_at = now(), retired_by = %(retired_by)s
where tenant_id = %(tenant_id)s and id = %(id)s and status = 'active';

-- name: registry.reinforce
-- The person said it again: confirmed now, and an importance never lowered by that.
update memories
set confirmed_at = greatest(confirmed_at, %(at)s), importance = greatest(importance, %(importance)s),
    expires_at = case when expires_at <= %(at)s then %(expires_at)s else expires_at end
where tenant_id = %(tenant_id)s and id = %(id)s and status = 'active';

