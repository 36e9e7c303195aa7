-- name: suppressions.add
-- One mark of a suppression; those of one bear the same wish_id.
insert into suppressions (tenant_id, subject_id, wish_id, digest, kind, slot)
values (%(tenant_id)s, %(subject_id)s, %(wish_id)s, %(digest)s, %(kind)s, %(slot)s) on conflict do nothing;

-- name: suppressions.list
-- The person's suppressions, newest first; without any text.
select wish_id, slot, min(at) as at from suppressions
where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s
group by wish_id, slot order by min(at) desc, wish_id desc limit %(limit)s;

-- name: suppressions.any
-- One row if one of these marks is on one of the person's suppressions, or all words of one are among these.
select true as held
from suppressions
where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s
group by wish_id
having bool_or(kind = 'mark' and digest = any(%(marks)s))
    or (bool_or(kind = 'word') and bool_and(digest = any(%(words)s)) filter (where kind = 'word'))
limit 1;

-- name: suppressions.lift
-- Take a suppression back; how many marks went.
delete from suppressions
where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s and wish_id = %(wish_id)s;
