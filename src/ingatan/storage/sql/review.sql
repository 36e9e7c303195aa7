-- name: review.page
-- Candidates of the tenant that wait for a reviewer, oldest first, after a (time, id) position; a null filter does not
-- filter. Without what they propose.
select id, subject_id, writer_id, scope, type, decision, reasons, policy_version, source_kind, source_id, batch_id,
       created_at, expires_at, appealed_at
from candidates
where tenant_id = %(tenant_id)s and state = 'open'
  and (%(reason)s::text is null or %(reason)s = any(reasons))
  and (%(type)s::text is null or type = %(type)s)
  and (%(source_kind)s::text is null or source_kind = %(source_kind)s)
  and (%(source_id)s::uuid is null or source_id = %(source_id)s)
  and (%(appealed)s::boolean is null or %(appealed)s = (appealed_at is not null))
  and (%(after_at)s::timestamptz is null or (created_at, id) > (%(after_at)s, %(after_id)s))
order by created_at, id limit %(limit)s;

-- name: review.get
-- One candidate of the tenant, whatever became of it; with what it proposes only while it waits.
select id, subject_id, writer_id, scope, type, decision, reasons, policy_version, source_kind, source_id, batch_id,
       created_at, expires_at, appealed_at, appeal_note, state, payload, verdict, reviewer_id, reviewed_at,
       memory_id
from candidates where tenant_id = %(tenant_id)s and id = %(id)s;

-- name: review.excerpts
-- What stands around each quote of a candidate that waits; nothing where the turn may not be read any more.
select message_id, quote, before, after, said_at from ingatan_review_excerpts(%(id)s, %(characters)s);

-- name: review.own
-- One candidate about the caller, locked until the transaction ends.
select id, type, decision, reasons, state, payload, conversation_id, source_kind, writer_id, appealed_at
from candidates where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s and id = %(id)s for update;

-- name: review.settle
-- A reviewer's verdict, and the decision it led to; nothing of what was proposed stays. Only of what waits.
update candidates
set state = 'settled', payload = null, appeal_note = null, proposed_reasons = coalesce(proposed_reasons, reasons),
    decision = %(decision)s, reasons = %(reasons)s, policy_version = %(policy_version)s, memory_id = %(memory_id)s,
    verdict = %(verdict)s, reviewer_id = %(reviewer_id)s, reviewed_at = %(reviewed_at)s, review_note = %(note)s
where tenant_id = %(tenant_id)s and id = %(id)s and state = 'open';

-- name: review.written_from
-- How many memories of the person, of these types, were first written from this conversation.
select count(*)::integer as n from memories
where tenant_id = %(tenant_id)s and scope = %(scope)s and scope_id = %(subject_id)s and version = 1
  and type = any(%(types)s) and conversation_id = %(conversation_id)s;

-- name: review.withdraw
-- Its person takes it back; nothing of what was proposed stays.
update candidates
set state = 'withdrawn', payload = null, appeal_note = null, proposed_reasons = coalesce(proposed_reasons, reasons),
    decision = 'reject', reasons = '{withdrawn}'
where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s and id = %(id)s and state = 'open';

-- name: review.take_back
-- Take back all that waits about somebody, or only what would fill a slot or bears one of some marks (hex); nothing of
-- what was proposed stays. The ids.
update candidates
set state = 'withdrawn', payload = null, appeal_note = null, proposed_reasons = coalesce(proposed_reasons, reasons),
    decision = 'reject', reasons = '{withdrawn}'
where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s and state = 'open'
  and (%(everything)s or payload -> 'candidate' ->> 'slot' = %(slot)s or payload -> 'marks' ?| %(marks)s)
returning id;

-- name: review.appeal
-- Its person asks for a reviewer's look at what waits.
update candidates set appealed_at = now(), appeal_note = %(note)s
where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s and id = %(id)s and state = 'open';

-- name: review.reopen
-- Its person asks for another look at what was refused, and says it again: it waits once more.
update candidates
set state = 'open', payload = %(payload)s, decision = 'review', reasons = %(reasons)s,
    proposed_reasons = coalesce(proposed_reasons, reasons), policy_version = %(policy_version)s, type = %(type)s,
    source_kind = 'self', source_id = null, batch_id = null, verdict = null, reviewer_id = null, reviewed_at = null,
    review_note = null, appealed_at = now(), appeal_note = %(note)s, expires_at = %(expires_at)s
where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s and id = %(id)s and state in ('settled', 'expired');

-- name: review.expire
-- What nobody reviewed by a moment ends without text; whose it was.
select id, subject_id from ingatan_expire_candidates(%(moment)s, %(most)s);

-- name: review.agreement
-- How the policy's own decisions compare with reviewers' verdicts, by decision, verdict and what the policy said.
select proposed_decision, verdict, coalesce(proposed_reasons, reasons) as reasons, count(*)::integer as n
from candidates
where tenant_id = %(tenant_id)s and verdict is not null and proposed_decision is not null
  and (%(from_at)s::timestamptz is null or reviewed_at >= %(from_at)s)
  and (%(to_at)s::timestamptz is null or reviewed_at < %(to_at)s)
group by 1, 2, 3 order by 1, 2, 3;

-- name: review.waiting
-- How many wait for a reviewer, and since when the oldest does.
select count(*)::integer as n, min(created_at) as oldest_at from candidates
where tenant_id = %(tenant_id)s and state = 'open';
