-- "Never again": keyed hashes of what a person does not want remembered, whenever it is said. One wish has several: marks
-- of which one is enough, and words all of which must stand in what is said.

create table suppressions (
    tenant_id uuid not null,
    subject_id uuid not null,
    wish_id uuid not null,
    digest bytea not null,
    kind text not null check (kind in ('mark', 'word')),
    slot text,
    at timestamptz not null default now(),
    primary key (tenant_id, subject_id, digest, wish_id)
);

alter table suppressions enable row level security;
alter table suppressions force row level security;
create policy person on suppressions to ingatan_app
    using (tenant_id = ingatan_tenant() and subject_id = ingatan_subject() and ingatan_power() = 'person')
    with check (tenant_id = ingatan_tenant() and subject_id = ingatan_subject() and ingatan_power() = 'person');
grant select, insert, delete on suppressions to ingatan_app;
