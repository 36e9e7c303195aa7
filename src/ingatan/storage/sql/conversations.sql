-- name: conversations.create
-- A new conversation of the caller.
insert into conversations (tenant_id, id, user_id, workspace_id, title, metadata, off_record)
values (%(tenant_id)s, %(id)s, %(user_id)s, %(workspace_id)s, %(title)s, %(metadata)s, %(off_record)s);

-- name: conversations.get
-- One visible conversation that the caller may read, with how many ask in it and read it; or none.
select c.id, c.user_id, c.workspace_id, c.title, c.metadata, c.off_record, c.last_seq, c.created_at, c.updated_at,
       s.askers, s.members
from conversations c join conversation_sharing s on s.tenant_id = c.tenant_id and s.conversation_id = c.id
where c.tenant_id = %(tenant_id)s and c.id = %(id)s and c.hidden_at is null;

-- name: conversations.sharing
-- Whether several people ask in a visible conversation or read it, as things stand; no row for what the caller may not
-- read.
select s.shared
from conversations c join conversation_sharing s on s.tenant_id = c.tenant_id and s.conversation_id = c.id
where c.tenant_id = %(tenant_id)s and c.id = %(id)s and c.hidden_at is null;

-- name: conversations.list
-- The caller's visible conversations and those of their workspaces, newest first, after an id; a null id starts at the
-- top. Ids grow with time, and unlike the time of change they do not move while someone pages.
select c.id, c.user_id, c.workspace_id, c.title, c.metadata, c.off_record, c.last_seq, c.created_at, c.updated_at,
       s.askers, s.members
from (
    (select id from conversations
     where tenant_id = %(tenant_id)s and user_id = %(user_id)s and workspace_id is null and hidden_at is null
       and (%(before_id)s::uuid is null or id < %(before_id)s)
     order by id desc limit %(limit)s)
    union all
    (select own.id
     from workspace_members m cross join lateral (
         select id from conversations
         where tenant_id = m.tenant_id and workspace_id = m.workspace_id and hidden_at is null
           and (%(before_id)s::uuid is null or id < %(before_id)s)
         order by id desc limit %(limit)s) own
     where m.tenant_id = %(tenant_id)s and m.subject_id = %(user_id)s
     order by own.id desc limit %(limit)s)
    order by id desc limit %(limit)s
) page
join conversations c on c.tenant_id = %(tenant_id)s and c.id = page.id
join conversation_sharing s on s.tenant_id = c.tenant_id and s.conversation_id = c.id
order by c.id desc;

-- name: conversations.change
-- Title and off-record flag, by its maker or the owner of its workspace; a null leaves the old value.
update conversations c
set title = coalesce(%(title)s, title), off_record = coalesce(%(off_record)s, off_record), updated_at = now()
where tenant_id = %(tenant_id)s and id = %(id)s and hidden_at is null
  and (c.user_id = %(subject_id)s or exists (
      select from workspaces w
      where w.tenant_id = c.tenant_id and w.id = c.workspace_id and w.owner_id = %(subject_id)s));

-- name: conversations.reserve
-- Give the next count positions to this transaction; others wait, so positions have no gap and no repeat. The keeper is
-- in whose scope the sweeper holds the conversation: the owner of its workspace, or else its maker.
update conversations c
set last_seq = last_seq + %(count)s, updated_at = %(at)s, title = case when title = '' then %(title)s else title end
where tenant_id = %(tenant_id)s and id = %(id)s and hidden_at is null
returning c.last_seq - %(count)s as after_seq, c.off_record, c.workspace_id, coalesce((
    select w.owner_id from workspaces w where w.tenant_id = c.tenant_id and w.id = c.workspace_id), c.user_id) as keeper_id;

-- name: conversations.note_asker
-- The caller asked in this conversation, up to this position (content-free).
insert into conversation_askers (tenant_id, conversation_id, subject_id, last_seq)
values (%(tenant_id)s, %(conversation_id)s, %(subject_id)s, %(last_seq)s)
on conflict (tenant_id, conversation_id, subject_id) do update set last_seq = excluded.last_seq;

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
-- Take the conversation out of every view, by its maker or the owner of its workspace; its messages stay until retention
-- or erasure.
update conversations c set hidden_at = now(), updated_at = now()
where tenant_id = %(tenant_id)s and id = %(id)s and hidden_at is null
  and (c.user_id = %(subject_id)s or exists (
      select from workspaces w
      where w.tenant_id = c.tenant_id and w.id = c.workspace_id and w.owner_id = %(subject_id)s));

-- name: conversations.forget_sweep
-- A conversation that is gone from view is not swept any more.
delete from sweep_state where tenant_id = %(tenant_id)s and conversation_id = %(id)s;

-- name: conversations.note_activity
-- The sweepers of both lanes see that there is something new (content-free).
insert into sweep_state (tenant_id, conversation_id, lane, subject_id, last_received_at, last_seq, done_seq)
select %(tenant_id)s, %(conversation_id)s, lane, %(keeper_id)s, %(received_at)s, %(last_seq)s, %(after_seq)s
from unnest(array['all', 'scoped']) as lane
on conflict (tenant_id, conversation_id, lane) do update
set last_received_at = greatest(sweep_state.last_received_at, excluded.last_received_at), last_seq = excluded.last_seq;

