-- One row a table, for one person: %(tenant)s, %(subject)s, and %(id)s for all else that belongs to them.

-- name: rows.tenants
-- Shared by the tenant's people.
insert into tenants (id, name) values (%(tenant)s, 'tenant') on conflict do nothing

-- name: rows.subjects
-- The person.
insert into subjects (tenant_id, id) values (%(tenant)s, %(subject)s)

-- name: rows.workspaces
-- Theirs.
insert into workspaces (tenant_id, id, name, owner_id) values (%(tenant)s, %(id)s, 'team', %(subject)s)

-- name: rows.workspace_members
-- They themselves, in their workspace.
insert into workspace_members (tenant_id, workspace_id, subject_id, role)
values (%(tenant)s, %(id)s, %(subject)s, 'owner')

-- name: rows.conversation_askers
-- They, in their conversation.
insert into conversation_askers (tenant_id, conversation_id, subject_id, last_seq)
values (%(tenant)s, %(id)s, %(subject)s, 1)

-- name: rows.conversations
-- Theirs.
insert into conversations (tenant_id, id, user_id) values (%(tenant)s, %(id)s, %(subject)s)

-- name: rows.messages
-- Of their conversation.
insert into messages (tenant_id, id, conversation_id, seq, author_id, role, content, created_at)
values (%(tenant)s, %(id)s, %(id)s, 1, %(subject)s, 'user', 'words', now())

-- name: rows.sweep_state
-- Of their conversation.
insert into sweep_state (tenant_id, conversation_id, lane, subject_id, last_received_at, last_seq)
values (%(tenant)s, %(id)s, 'all', %(subject)s, now(), 1)

-- name: rows.sweep_abandoned
-- Of their conversation.
insert into sweep_abandoned (tenant_id, conversation_id, lane, from_seq, to_seq, reason)
values (%(tenant)s, %(id)s, 'all', 1, 1, 'attempts')

-- name: rows.memories
-- About them.
insert into memories (tenant_id, id, version, scope_id, subject_id, type, text, text_hash, language, importance, trust,
                      status, source_kind, policy_version, effective_at)
values (%(tenant)s, %(id)s, 1, %(subject)s, %(subject)s, 'fact', 'words', '\x00', 'en', 0.5, 'stated', 'active', 'self',
        '1', now())

-- name: rows.memory_evidence
-- Of their memory.
insert into memory_evidence (tenant_id, memory_id, version, n, message_id, quote)
values (%(tenant)s, %(id)s, 1, 1, %(id)s, 'words')

-- name: rows.memory_uses
-- Of their memory.
insert into memory_uses (tenant_id, scope_id, memory_id, last_at) values (%(tenant)s, %(subject)s, %(id)s, now())

-- name: rows.memory_embeddings
-- Of their memory.
insert into memory_embeddings (tenant_id, scope_id, model_id, memory_id, version, v)
values (%(tenant)s, %(subject)s, 1, %(id)s, 1, '[1,2]')

-- name: rows.candidates
-- About them, waiting for a reviewer.
insert into candidates (tenant_id, id, subject_id, writer_id, type, decision, reasons, policy_version, memory_id)
values (%(tenant)s, %(id)s, %(subject)s, %(subject)s, 'fact', 'review', '{}', '1', %(id)s)

-- name: rows.audit_heads
-- A lane of the tenant, numbered by the person.
insert into audit_heads (tenant_id, lane, seq, mac) values (%(tenant)s, %(lane)s, 1, '\x00')

-- name: rows.audit_log
-- In that lane.
insert into audit_log (tenant_id, lane, seq, id, at, actor_id, action, entity_type, details, mac)
values (%(tenant)s, %(lane)s, 1, %(id)s, now(), %(subject)s, 'create', 'memory', '{}', '\x00')

-- name: rows.audit_pending
-- By them.
insert into audit_pending (tenant_id, id, at, actor_id, action, entity_type, details)
values (%(tenant)s, %(id)s, now(), %(subject)s, 'recall', 'memory', '{}')

-- name: rows.erasures
-- Of theirs.
insert into erasures (tenant_id, id, subject_id, requested_by, reason, receipt)
values (%(tenant)s, %(id)s, %(subject)s, %(subject)s, 'asked', '{}')

-- name: rows.idempotency_keys
-- Of theirs.
insert into idempotency_keys (tenant_id, principal_id, route, key, body_sha256, resource_ids)
values (%(tenant)s, %(subject)s, 'POST /memories', 'key', '\x00', '{}')

-- name: rows.model
-- The one embedding model.
insert into embedding_models (name, dimensions) values ('model', 2) on conflict do nothing

-- name: rows.embedding_pending
-- Of their memory.
insert into embedding_pending (tenant_id, subject_id, memory_id, version, model_id)
values (%(tenant)s, %(subject)s, %(id)s, 1, 1)

-- name: rows.erased_texts
-- Theirs.
insert into erased_texts (tenant_id, subject_id, digest) values (%(tenant)s, %(subject)s, '\x00')

-- name: rows.suppressions
-- A wish of theirs.
insert into suppressions (tenant_id, subject_id, wish_id, digest, kind)
values (%(tenant)s, %(subject)s, %(id)s, '\x00', 'mark')

-- name: rows.policy_versions
-- A version of their tenant's, made by them.
insert into policy_versions (tenant_id, version, document, made_by)
values (%(tenant)s, %(lane)s + 1, '{}', %(subject)s)

-- name: rows.accounts
-- An account of their own.
insert into accounts (tenant_id, id, name) values (%(tenant)s, %(id)s, 'name')

-- name: rows.account_members
-- Their membership in it.
insert into account_members (tenant_id, account_id, subject_id, role) values (%(tenant)s, %(id)s, %(subject)s, 'admin')

-- name: rows.sources
-- One of their tenant's.
insert into sources (tenant_id, id, name, kind, trust, types, scopes, made_by)
values (%(tenant)s, %(id)s, 'name', 'external', 'unverified', '{}', '{}', %(subject)s)

-- name: rows.batches
-- One of theirs, of it.
insert into batches (tenant_id, id, source_id, made_by) values (%(tenant)s, %(id)s, %(id)s, %(subject)s)

-- name: rows.memory_lineage
-- Of their memory.
insert into memory_lineage (tenant_id, memory_id, version, parent_kind, parent_id)
values (%(tenant)s, %(id)s, 1, 'memory', %(id)s)

-- name: rows.seen_events
-- One that their tenant's source signed.
insert into seen_events (tenant_id, source_id, digest, believed_until) values (%(tenant)s, %(id)s, '\x00', now())

-- name: rows.alerts
-- About them.
insert into alerts (tenant_id, id, kind, key, day, n) values (%(tenant)s, %(id)s, 'churn', %(subject)s, now(), 1)
