-- name: conversations.create
-- A new conversation of the caller.
insert into conversations (tenant_id, id, user_id, title, metadata, off_record)
values (%(tenant_id)s, %(id)s, %(user_id)s, %(title)s, %(metadata)s, %(off_record)s)
returning id, title, metadata, off_record, last_seq, created_at, updated_at;

-- name: conversations.get
-- One visible conversation of the caller, or none.
select id, title, metadata, off_record, last_seq, created_at, updated_at
from conversations where tenant_id = %(tenant_id)s and id = %(id)s and hidden_at is null;

-- name: conversations.list
-- The caller's visible conversations, newest first, after an id; a null id starts at the top. Ids grow with time, and
-- unlike the time of change they do not move while someone pages.
select id, title, metadata, off_record, last_seq, created_at, updated_at
from conversations
where tenant_id = %(tenant_id)s and user_id = %(user_id)s and hidden_at is null
  and (%(before_id)s::uuid is null or id < %(before_id)s)
order by id desc limit %(limit)s;

-- name: conversations.change
-- Title and off-record flag; a null leaves the old value.
update conversations
set title = coalesce(%(title)s, title), off_record = coalesce(%(off_record)s, off_record), updated_at = now()
where tenant_id = %(tenant_id)s and id = %(id)s and hidden_at is null
returning id, title, metadata, off_record, last_seq, created_at, updated_at;

-- name: conversations.reserve
-- Give the next count positions to this transaction; others wait, so positions have no gap and no repeat.
update conversations
set last_seq = last_seq + %(count)s, updated_at = %(at)s, title = case when title = '' then %(title)s else title end
where tenant_id = %(tenant_id)s and id = %(id)s and hidden_at is null
returning last_seq - %(count)s as after_seq, off_record;

-- name: conversations.add_message
-- One turn at a reserved position.
insert into messages (tenant_id, id, conversation_id, seq, author_id, role, content, parts, trace_id, metadata,
                      off_record, created_at, received_at)
values (%(tenant_id)s, %(id)s, %(conversation_id)s, %(seq)s, %(author_id)s, %(role)s, %(content)s, %(parts)s,
        %(trace_id)s, %(metadata)s, %(off_record)s, %(created_at)s, %(received_at)s);

-- name: conversations.messages_by_id
-- Turns by their ids, in order of position.
select id, conversation_id, seq, author_id, role, content, parts, source_citations, metadata, created_at
from messages where tenant_id = %(tenant_id)s and id = any(%(ids)s) order by seq;

-- name: conversations.messages_after
-- Turns after a position, in order.
select m.id, m.conversation_id, m.seq, m.author_id, m.role, m.content, m.parts, m.source_citations, m.metadata,
       m.created_at
from messages m
where m.tenant_id = %(tenant_id)s and m.conversation_id = %(conversation_id)s and m.seq > %(after_seq)s
order by m.seq limit %(limit)s;

-- name: conversations.window
-- The last turns, in order.
select * from (
    select id, conversation_id, seq, author_id, role, content, parts, source_citations, metadata, created_at
    from messages where tenant_id = %(tenant_id)s and conversation_id = %(conversation_id)s
    order by seq desc limit %(limit)s
) newest order by seq;

-- name: conversations.hide
-- Take the conversation out of every view; its messages stay until retention or erasure.
update conversations set hidden_at = now(), updated_at = now()
where tenant_id = %(tenant_id)s and id = %(id)s and hidden_at is null;

-- name: conversations.forget_sweep
-- A conversation that is gone from view is not swept any more.
delete from sweep_state where tenant_id = %(tenant_id)s and conversation_id = %(id)s;

-- name: conversations.note_activity
-- The sweepers of both lanes see that there is something new (content-free).
insert into sweep_state (tenant_id, conversation_id, lane, subject_id, last_received_at, last_seq, done_seq)
select %(tenant_id)s, %(conversation_id)s, lane, %(subject_id)s, %(received_at)s, %(last_seq)s, %(after_seq)s
from unnest(array['all', 'scoped']) as lane
on conflict (tenant_id, conversation_id, lane) do update
set last_received_at = greatest(sweep_state.last_received_at, excluded.last_received_at), last_seq = excluded.last_seq;

