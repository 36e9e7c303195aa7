-- name: accounts.create
-- A new account without members.
insert into accounts (tenant_id, id, name) values (%(tenant_id)s, %(id)s, %(name)s);

-- name: accounts.get
-- One account that the caller may see, with their role in it.
select a.id, a.name, a.created_at, m.role
from accounts a
left join account_members m on m.tenant_id = a.tenant_id and m.account_id = a.id and m.subject_id = %(subject_id)s
where a.tenant_id = %(tenant_id)s and a.id = %(id)s;

-- name: accounts.list
-- The accounts that the caller may see, newest first, after an id; a null id starts at the top.
select a.id, a.name, a.created_at, m.role
from accounts a
left join account_members m on m.tenant_id = a.tenant_id and m.account_id = a.id and m.subject_id = %(subject_id)s
where a.tenant_id = %(tenant_id)s and (%(before_id)s::uuid is null or a.id < %(before_id)s)
order by a.id desc limit %(limit)s;

-- name: accounts.members
-- Members in order of their ids, after an id.
select subject_id, role, added_at from account_members
where tenant_id = %(tenant_id)s and account_id = %(id)s
  and (%(after_id)s::uuid is null or subject_id > %(after_id)s)
order by subject_id limit %(limit)s;

-- name: accounts.count_members
-- How many there are.
select count(*)::integer as n from account_members where tenant_id = %(tenant_id)s and account_id = %(id)s;

-- name: accounts.put_member
-- A member in a role, new or changed.
insert into account_members (tenant_id, account_id, subject_id, role)
values (%(tenant_id)s, %(id)s, %(subject_id)s, %(role)s)
on conflict (tenant_id, account_id, subject_id) do update set role = excluded.role
returning added_at, xmax = 0 as new;

-- name: accounts.remove_member
-- No member any more.
delete from account_members where tenant_id = %(tenant_id)s and account_id = %(id)s and subject_id = %(subject_id)s;
