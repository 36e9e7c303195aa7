-- name: probe.echo
-- The parameter, as text.
select %(value)s::text as value

-- name: probe.scope
-- The three words of the scope as they stand, and the role.
select ingatan_tenant()::text as tenant, ingatan_subject()::text as subject, ingatan_power() as power,
       current_user::text as role,
       current_setting('synchronous_commit') as synchronous_commit

-- name: probe.types
-- Parameters come back as what they were.
select %(document)s::jsonb as document, %(ids)s::uuid[] as ids, %(vector)s::halfvec as vector,
       %(documents)s::jsonb as documents, 100 %% 7 as remainder

-- name: probe.subjects
-- Everyone in sight.
select tenant_id, id from subjects

-- name: probe.add_subject
-- One more.
insert into subjects (tenant_id, id) values (%(tenant)s, %(id)s)

-- name: probe.failing
-- Fails in the server, with the parameter in its message.
select %(value)s::text::uuid

-- name: probe.sleeping
-- Takes its time.
select pg_sleep(%(seconds)s)

-- name: probe.tenants
-- The tenants in sight.
select id from tenants

-- name: probe.content
-- What a job must not see.
select content from messages

-- name: probe.lower
-- Lower case in the database.
select lower(%(value)s::text) as value

-- name: probe.add_message
-- A message in a conversation that may not be there.
insert into messages (tenant_id, id, conversation_id, seq, role, content, created_at)
values (%(tenant)s, %(id)s, %(conversation)s, 1, 'user', %(content)s, now())

-- name: probe.add_candidate
-- With a decision that the table checks.
insert into candidates (tenant_id, id, subject_id, writer_id, type, decision, reasons, policy_version, payload)
values (%(tenant)s, %(id)s, %(subject)s, %(subject)s, 'fact', %(decision)s, '{}', '1', %(payload)s)

-- name: probe.two
-- More than one row.
select generate_series(1, 2) as n

-- name: probe.time
-- The instant, and the session's zone.
select %(value)s::timestamptz as value, current_setting('timezone') as zone

-- name: probe.endless
-- A time that Python has not.
select 'infinity'::timestamptz as value

-- name: probe.run_out_conversations
-- As if the lease time of every claimed conversation of the caller had passed.
update sweep_state set lease_until = now() - interval '1 second' where lease_until is not null;

-- name: probe.run_out_subjects
-- As if the lease time of the caller had passed.
update subjects set lease_until = now() - interval '1 second' where lease_until is not null;

-- name: probe.run_out_leases
-- As if every leader's time had passed.
update leases set lease_until = now() - interval '1 second';

-- name: probe.edit_audit
-- An intruder changes a row.
update audit_log set action = 'nothing' where seq = 2;

-- name: probe.remove_audit
-- An intruder removes a row in the middle.
delete from audit_log where seq = 2;

-- name: probe.swap_audit
-- An intruder changes the order of two rows.
update audit_log set seq = case seq when 2 then 103 else 102 end where seq in (2, 3);
update audit_log set seq = seq - 100 where seq > 100;

-- name: probe.cut_audit
-- An intruder cuts the tail.
delete from audit_log where seq = 3;

-- name: probe.dump_candidates
-- Everything that is kept of the caller's decisions.
select c::text as row from candidates c;

-- name: probe.titles
-- Every conversation in sight, with no predicate at all.
select title from conversations

-- name: probe.add_conversation
-- In a workspace.
insert into conversations (tenant_id, id, user_id, workspace_id, title)
values (%(tenant)s, %(id)s, %(subject)s, %(workspace)s, 'talk')

-- name: probe.count_conversations
-- The conversations in sight.
select count(*) as n from conversations

-- name: probe.vectors_of
-- Of a text: its active versions, vectors and vectors to be made.
select count(*) filter (where m.status = 'active') as active,
       count(e.memory_id) as vectors, count(p.memory_id) as pending
from memories m
left join memory_embeddings e on e.memory_id = m.id and e.version = m.version and e.scope_id = m.scope_id
left join embedding_pending p on p.memory_id = m.id and p.version = m.version
where m.scope_id = %(subject_id)s and m.text = %(text)s

-- name: probe.similarities
-- All vectors of a person.
select memory_id, version, model_id from memory_embeddings where scope_id = %(subject_id)s order by model_id, memory_id

-- name: probe.zero_vectors
-- The vectors of a text become zero.
update memory_embeddings e set v = (e.v - e.v)
from memories m where m.id = e.memory_id and m.scope_id = %(subject_id)s and m.text = %(text)s

-- name: probe.uses
-- The use counters of a person.
select memory_id, count from memory_uses where scope_id = %(subject_id)s order by memory_id
