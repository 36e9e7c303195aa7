-- name: suppressions.add
-- One mark of a wish.
insert into suppressions (tenant_id, subject_id, wish_id, digest, slot)
values (%(tenant_id)s, %(subject_id)s, %(wish_id)s, %(digest)s, %(slot)s) on conflict do nothing;

-- name: suppressions.list
-- The person's wishes, newest first; without any text.
select wish_id, slot, min(at) as at from suppressions
where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s
group by wish_id, slot order by min(at) desc, wish_id desc limit %(limit)s;

-- name: suppressions.any
-- One row if any of these marks is on one of the person's wishes.
select true as held where exists (
    select from suppressions
    where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s and digest = any(%(digests)s));

-- name: suppressions.lift
-- Take a wish back; how many marks went.
delete from suppressions
where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s and wish_id = %(wish_id)s;
