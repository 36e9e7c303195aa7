-- name: workspaces.create
-- A new workspace of the caller.
insert into workspaces (tenant_id, id, name, owner_id) values (%(tenant_id)s, %(id)s, %(name)s, %(owner_id)s);

-- name: workspaces.count_owned
-- How many workspaces the caller owns.
select count(*)::integer as n from workspaces
where tenant_id = %(tenant_id)s and owner_id = %(subject_id)s and deleted_at is null;

-- name: workspaces.get
-- One workspace that the caller is a member of, with their role and how many members it has; or none.
select w.id, w.name, w.owner_id, w.created_at, w.updated_at, m.role, (
    select count(*)::integer from workspace_members o
    where o.tenant_id = w.tenant_id and o.workspace_id = w.id) as members
from workspaces w
join workspace_members m on m.tenant_id = w.tenant_id and m.workspace_id = w.id and m.subject_id = %(subject_id)s
where w.tenant_id = %(tenant_id)s and w.id = %(id)s and w.deleted_at is null;

-- name: workspaces.list
-- The caller's workspaces, newest first, after an id; a null id starts at the top.
select w.id, w.name, w.owner_id, w.created_at, w.updated_at, m.role, (
    select count(*)::integer from workspace_members o
    where o.tenant_id = w.tenant_id and o.workspace_id = w.id) as members
from workspace_members m join workspaces w on w.tenant_id = m.tenant_id and w.id = m.workspace_id
where m.tenant_id = %(tenant_id)s and m.subject_id = %(subject_id)s and w.deleted_at is null
  and (%(before_id)s::uuid is null or w.id < %(before_id)s)
order by w.id desc limit %(limit)s;

-- name: workspaces.lock
-- The workspace, if the caller owns it, locked until the transaction ends: changes of one workspace go one by one.
select id from workspaces
where tenant_id = %(tenant_id)s and id = %(id)s and owner_id = %(subject_id)s and deleted_at is null for update;

-- name: workspaces.rename
-- Another name.
update workspaces set name = %(name)s, updated_at = now()
where tenant_id = %(tenant_id)s and id = %(id)s and owner_id = %(subject_id)s;

-- name: workspaces.delete
-- The workspace is gone from every view; nobody is a member any more once ``remove_all`` has run.
update workspaces set deleted_at = now(), updated_at = now()
where tenant_id = %(tenant_id)s and id = %(id)s and owner_id = %(subject_id)s;

-- name: workspaces.hide_conversations
-- Its conversations are gone from every view; their messages stay until retention or erasure.
update conversations set hidden_at = now(), updated_at = now()
where tenant_id = %(tenant_id)s and workspace_id = %(id)s and hidden_at is null;

-- name: workspaces.forget_sweep
-- Its conversations are swept no more.
delete from sweep_state s using conversations c
where s.tenant_id = %(tenant_id)s and c.tenant_id = s.tenant_id and c.id = s.conversation_id
  and c.workspace_id = %(id)s;

-- name: workspaces.members
-- Members in order of their ids, after one; a null id starts at the top.
select subject_id, role, added_at from workspace_members
where tenant_id = %(tenant_id)s and workspace_id = %(id)s
  and (%(after_id)s::uuid is null or subject_id > %(after_id)s)
order by subject_id limit %(limit)s;

-- name: workspaces.member
-- One member, or none.
select subject_id, role, added_at from workspace_members
where tenant_id = %(tenant_id)s and workspace_id = %(id)s and subject_id = %(subject_id)s;

-- name: workspaces.count_members
-- How many members the workspace has.
select count(*)::integer as n from workspace_members where tenant_id = %(tenant_id)s and workspace_id = %(id)s;

-- name: workspaces.add_member
-- One more member; one who is a member already stays as they are.
insert into workspace_members (tenant_id, workspace_id, subject_id, role)
values (%(tenant_id)s, %(id)s, %(subject_id)s, %(role)s) on conflict do nothing;

-- name: workspaces.remove_member
-- One member less.
delete from workspace_members
where tenant_id = %(tenant_id)s and workspace_id = %(id)s and subject_id = %(subject_id)s;

-- name: workspaces.remove_all
-- No member any more.
delete from workspace_members where tenant_id = %(tenant_id)s and workspace_id = %(id)s;
