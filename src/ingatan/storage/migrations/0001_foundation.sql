-- The foundation: conversations, sweep state, memories with their projections, decisions, audit, erasure receipts.
-- tenant_id stands first in every key so that the schema distributes by tenant (DATA).

create extension if not exists vector;

create table tenants (
    id uuid primary key,
    name text not null,
    created_at timestamptz not null default now()
);

-- One lock row a person: writes about them take it, erasure raises the epoch.
create table subjects (
    tenant_id uuid not null,
    id uuid not null,
    erasure_epoch bigint not null default 0,
    consent text not null default 'unset' check (consent in ('unset', 'granted', 'withdrawn')),
    consent_at timestamptz,
    lease_until timestamptz,
    created_at timestamptz not null default now(),
    primary key (tenant_id, id)
);

create table conversations (
    tenant_id uuid not null,
    id uuid not null,
    user_id uuid not null,
    title text not null default '',
    metadata jsonb not null default '{}',
    off_record boolean not null default false,
    last_seq integer not null default 0,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    hidden_at timestamptz,
    primary key (tenant_id, id)
);
create index conversations_user on conversations (tenant_id, user_id, id desc) where hidden_at is null;

create table messages (
    tenant_id uuid not null,
    id uuid not null,
    conversation_id uuid not null,
    seq integer not null,
    author_id uuid,
    role text not null check (role in ('user', 'assistant', 'system', 'tool')),
    content text not null,
    parts jsonb,
    trace_id text,
    source_citations jsonb not null default '[]',
    metadata jsonb not null default '{}',
    off_record boolean not null default false,
    created_at timestamptz not null,
    received_at timestamptz not null default now(),
    primary key (tenant_id, id),
    unique (tenant_id, conversation_id, seq),
    foreign key (tenant_id, conversation_id) references conversations (tenant_id, id) on delete cascade
);
create index messages_conversation_created on messages (tenant_id, conversation_id, created_at);
create index "messages_createdAt_idx" on messages (created_at);  -- S1's name, for S1's lookback query

-- Content-free: all that a sweeper may see before it enters one tenant and one person.
create table sweep_state (
    tenant_id uuid not null,
    conversation_id uuid not null,
    lane text not null check (lane in ('all', 'scoped')),
    subject_id uuid not null,
    last_received_at timestamptz not null,
    last_seq integer not null,
    done_seq integer not null default 0,
    attempts integer not null default 0,
    lease_until timestamptz,
    fence bigint not null default 0,
    primary key (tenant_id, conversation_id, lane),
    foreign key (tenant_id, conversation_id) references conversations (tenant_id, id) on delete cascade
);
create index sweep_state_due on sweep_state (lane, last_received_at) where last_seq > done_seq;

-- Spans whose last allowed attempt failed: listed, and can be run again.
create table sweep_abandoned (
    tenant_id uuid not null,
    conversation_id uuid not null,
    lane text not null,
    from_seq integer not null,
    to_seq integer not null,
    reason text not null,
    at timestamptz not null default now(),
    primary key (tenant_id, conversation_id, lane, from_seq),
    foreign key (tenant_id, conversation_id) references conversations (tenant_id, id) on delete cascade
);

-- Who leads which periodic job. Leadership saves work; fences and the subject lock keep it correct.
create table leases (
    name text primary key,
    holder uuid not null,
    lease_until timestamptz not null
);

create table memories (
    tenant_id uuid not null,
    id uuid not null,
    version integer not null,
    scope text not null default 'user' check (scope in ('user', 'account', 'organisation')),
    scope_id uuid not null,
    subject_id uuid not null,
    type text not null,
    slot text,
    text text not null,
    text_hash bytea not null,
    language text not null,
    importance real not null check (importance between 0 and 1),
    trust text not null,
    status text not null check (status in ('active', 'superseded', 'deleted', 'archived')),
    source_kind text not null,
    conversation_id uuid,
    source_erased boolean not null default false,
    candidate_id uuid,
    policy_version text not null,
    effective_at timestamptz not null,
    recorded_at timestamptz not null default now(),
    confirmed_at timestamptz not null default now(),
    retired_at timestamptz,
    expires_at timestamptz,
    primary key (tenant_id, id, version)
);
create unique index memories_one_active on memories (tenant_id, id) where status = 'active';
create unique index memories_no_duplicate on memories (tenant_id, scope, scope_id, text_hash) where status = 'active';
create index memories_scope on memories (tenant_id, scope_id, recorded_at desc, id desc);

create table memory_evidence (
    tenant_id uuid not null,
    memory_id uuid not null,
    version integer not null,
    n integer not null,
    message_id uuid not null,
    quote text not null,
    primary key (tenant_id, memory_id, version, n),
    foreign key (tenant_id, memory_id, version) references memories (tenant_id, id, version) on delete cascade
);

create table memory_uses (
    tenant_id uuid not null,
    scope_id uuid not null,
    memory_id uuid not null,
    count bigint not null default 0,
    last_at timestamptz not null,
    primary key (tenant_id, memory_id)
);

create table embedding_models (
    id smallint primary key generated always as identity,
    name text not null unique,
    dimensions integer not null,
    created_at timestamptz not null default now()
);

-- Scanned exactly, in this key order: about 30 rows a person (DATA).
create table memory_embeddings (
    tenant_id uuid not null,
    scope_id uuid not null,
    model_id smallint not null references embedding_models (id),
    memory_id uuid not null,
    version integer not null,
    v halfvec not null,
    primary key (tenant_id, scope_id, model_id, memory_id, version),
    foreign key (tenant_id, memory_id, version) references memories (tenant_id, id, version) on delete cascade
);

-- Content-free: memories whose vector is still to be made, because the embedder did not answer.
create table embedding_pending (
    tenant_id uuid not null,
    subject_id uuid not null,
    memory_id uuid not null,
    version integer not null,
    created_at timestamptz not null default now(),
    primary key (tenant_id, memory_id, version),
    foreign key (tenant_id, memory_id, version) references memories (tenant_id, id, version) on delete cascade
);

-- Keyed hashes of what was erased: words said before the erasure may not bring it back.
create table erased_texts (
    tenant_id uuid not null,
    subject_id uuid not null,
    digest bytea not null,
    at timestamptz not null default now(),
    primary key (tenant_id, subject_id, digest)
);

-- Every decision, without text: the turns are named, an accepted one stands in its memory.
create table candidates (
    tenant_id uuid not null,
    id uuid not null,
    subject_id uuid not null,
    writer_id uuid not null,
    conversation_id uuid,
    message_ids uuid[] not null default '{}',
    type text not null,
    decision text not null check (decision in ('accept', 'reject', 'quarantine', 'review')),
    reasons text[] not null,
    policy_version text not null,
    memory_id uuid,
    created_at timestamptz not null default now(),
    primary key (tenant_id, id)
);
create index candidates_subject on candidates (tenant_id, subject_id, created_at desc, id desc);
create index candidates_memory on candidates (tenant_id, memory_id) where memory_id is not null;

create table audit_heads (
    tenant_id uuid not null,
    lane smallint not null,
    seq bigint not null,
    mac bytea not null,
    primary key (tenant_id, lane)
);

create table audit_log (
    tenant_id uuid not null,
    lane smallint not null,
    seq bigint not null,
    id uuid not null,
    at timestamptz not null,
    actor_id uuid not null,
    action text not null,
    entity_type text not null,
    entity_id uuid,
    details jsonb not null,
    mac bytea not null,
    primary key (tenant_id, lane, seq)
);
create index audit_log_entity on audit_log (tenant_id, entity_type, entity_id);

-- Written on the hot path of recall, sealed into the chain in batches.
create table audit_pending (
    tenant_id uuid not null,
    id uuid not null,
    at timestamptz not null,
    actor_id uuid not null,
    action text not null,
    entity_type text not null,
    entity_id uuid,
    details jsonb not null,
    primary key (tenant_id, id)
);

create table erasures (
    tenant_id uuid not null,
    id uuid not null,
    subject_id uuid not null,
    requested_by uuid not null,
    reason text not null,
    receipt jsonb not null,
    at timestamptz not null default now(),
    primary key (tenant_id, id)
);
create index erasures_subject on erasures (tenant_id, subject_id, at desc);

-- Answers are rebuilt from resource_ids, never stored.
create table idempotency_keys (
    tenant_id uuid not null,
    principal_id uuid not null,
    route text not null,
    key text not null,
    body_sha256 bytea not null,
    resource_ids uuid[] not null,
    created_at timestamptz not null default now(),
    primary key (tenant_id, principal_id, route, key)
);
create index idempotency_keys_created on idempotency_keys (tenant_id, created_at);

-- Statistics keep samples of the column's text after deletion (DATA); these columns are never filtered by value.
alter table messages alter column content set statistics 0;
alter table messages alter column parts set statistics 0;
alter table messages alter column metadata set statistics 0;
alter table conversations alter column title set statistics 0;
alter table conversations alter column metadata set statistics 0;
alter table memories alter column text set statistics 0;
alter table memories alter column text_hash set statistics 0;
alter table memory_evidence alter column quote set statistics 0;
