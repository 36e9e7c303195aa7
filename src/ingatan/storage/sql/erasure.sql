-- name: erasure.select
-- Every version of the person's memories to erase, in any status; null filters take all. A memory belongs to the
-- conversation its newest version came from.
select m.id, m.text, m.slot from memories m
where m.tenant_id = %(tenant_id)s and m.scope = %(scope)s and m.scope_id = %(subject_id)s
  and (%(memory_id)s::uuid is null or m.id = %(memory_id)s)
  and (%(conversation_id)s::uuid is null or %(conversation_id)s = (
      select newest.conversation_id from memories newest
      where newest.tenant_id = m.tenant_id and newest.id = m.id order by newest.version desc limit 1));

-- name: erasure.sources
-- The turns that the memories to erase were written from.
select distinct message_id from memory_evidence where tenant_id = %(tenant_id)s and memory_id = any(%(ids)s);

-- name: erasure.evidence
-- Remove quotes.
delete from memory_evidence where tenant_id = %(tenant_id)s and memory_id = any(%(ids)s);

-- name: erasure.vectors
-- Remove vectors.
delete from memory_embeddings
where tenant_id = %(tenant_id)s and scope_id = %(subject_id)s and memory_id = any(%(ids)s);

-- name: erasure.vectors_pending
-- Remove vectors still to be made.
delete from embedding_pending where tenant_id = %(tenant_id)s and memory_id = any(%(ids)s);

-- name: erasure.uses
-- Remove counters.
delete from memory_uses where tenant_id = %(tenant_id)s and memory_id = any(%(ids)s);

-- name: erasure.memories
-- Remove all versions.
delete from memories where tenant_id = %(tenant_id)s and scope_id = %(subject_id)s and id = any(%(ids)s);

-- name: erasure.candidates
-- Remove the decisions that belong to the memories, or to a conversation, or all of the person's; and what waits for a
-- reviewer and says the same as an erased memory, or would replace it. How many, and how many of them the one who asks
-- had brought since a moment.
with gone as (
    delete from candidates
    where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s
      and (%(everything)s or memory_id = any(%(ids)s)
           or (%(conversation_id)s::uuid is not null and conversation_id = %(conversation_id)s)
           or message_ids && %(message_ids)s
           or (state = 'open' and (payload -> 'candidate' ->> 'target_id' = any(%(ids)s::uuid[]::text[])
                                   or payload -> 'marks' ?| %(marks)s)))
    returning writer_id, created_at
)
select count(*)::integer as n,
       (count(*) filter (where writer_id = %(asked_by)s and created_at > %(since)s))::integer as brought
from gone;

-- name: erasure.remember
-- The mark of something erased, with the time of its latest erasure.
insert into erased_texts (tenant_id, subject_id, digest) values (%(tenant_id)s, %(subject_id)s, %(digest)s)
on conflict (tenant_id, subject_id, digest) do update set at = now();

-- name: erasure.erased_at
-- Which of these marks something erased bears, and when that was last erased.
select digest, at from erased_texts
where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s and digest = any(%(digests)s);

-- name: erasure.record
-- The receipt.
insert into erasures (tenant_id, id, subject_id, requested_by, reason, receipt, brought)
values (%(tenant_id)s, %(id)s, %(subject_id)s, %(requested_by)s, %(reason)s, %(receipt)s, %(brought)s);

-- name: erasure.unmarked_people
-- Whose memories have versions without marks, in all tenants; keys only.
select distinct tenant_id, scope_id as subject_id from memories
where marks = '{}' and scope = 'user' order by 1, 2 limit %(limit)s;

-- name: erasure.unmarked
-- Versions of the caller without marks, with the turns they were written from.
select m.id, m.version, m.text, m.slot,
       array(select e.message_id from memory_evidence e
             where e.tenant_id = m.tenant_id and e.memory_id = m.id and e.version = m.version) as turns
from memories m
where m.tenant_id = %(tenant_id)s and m.scope = 'user' and m.scope_id = %(subject_id)s and m.marks = '{}'
order by m.id, m.version limit %(limit)s;

-- name: erasure.mark
-- Give a version its marks.
update memories set marks = %(marks)s where tenant_id = %(tenant_id)s and id = %(id)s and version = %(version)s;
