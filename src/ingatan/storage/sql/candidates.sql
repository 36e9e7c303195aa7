-- name: candidates.record
-- One decision; with what was proposed only where it waits for a reviewer.
insert into candidates (tenant_id, id, subject_id, scope, writer_id, conversation_id, message_ids, type, decision,
                        proposed_decision, reasons, policy_version, memory_id, source_kind, source_id, batch_id, state,
                        payload, expires_at)
values (%(tenant_id)s, %(id)s, %(subject_id)s, %(scope)s, %(writer_id)s, %(conversation_id)s, %(message_ids)s, %(type)s,
        %(decision)s, %(proposed_decision)s, %(reasons)s, %(policy_version)s, %(memory_id)s, %(source_kind)s,
        %(source_id)s, %(batch_id)s, %(state)s, %(payload)s, %(expires_at)s);

-- name: candidates.refuse
-- What a person said and nobody proposed: refused, without text.
insert into candidates (tenant_id, id, subject_id, writer_id, conversation_id, message_ids, type, decision,
                        proposed_decision, reasons, policy_version)
values (%(tenant_id)s, %(id)s, %(subject_id)s, %(subject_id)s, %(conversation_id)s, %(message_ids)s, 'fact', 'reject',
        'reject', %(reasons)s, %(policy_version)s);

-- name: candidates.get
-- One decision about the person.
select id, decision, reasons, policy_version, memory_id
from candidates where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s and id = %(id)s;

-- name: candidates.page
-- The person's decisions, newest first, after a (time, id) position; a null filter does not filter. With what was
-- proposed only where it waits.
select id, conversation_id, message_ids, type, decision, reasons, policy_version, memory_id, created_at, state,
       payload ->> 'text' as text, verdict, reviewed_at, review_note, appealed_at, expires_at
from candidates
where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s
  and (%(decision)s::text is null or decision = %(decision)s)
  and (%(state)s::text is null or state = %(state)s)
  and (%(before_at)s::timestamptz is null or (created_at, id) < (%(before_at)s, %(before_id)s))
order by created_at desc, id desc limit %(limit)s;
