-- name: database.facts
-- One row about the server and the connected role, for the checks at start. ``privileged``: the role, or one it is or
-- may become a member of, is a superuser, bypasses row security or owns a table with row security here.
-- ``version_table``: whether the schema records its version.
select
    current_setting('server_version_num')::int as server_version,
    (select extversion from pg_extension where extname = 'vector') as vector_version,
    current_user::text as role,
    to_regclass('alembic_version') is not null as version_table,
    to_regrole('ingatan_jobs') is not null and pg_has_role(current_user, to_regrole('ingatan_jobs'), 'SET') as may_do_jobs,
    to_regrole('ingatan_jobs') is not null and pg_has_role(current_user, to_regrole('ingatan_jobs'), 'USAGE') as inherits_jobs,
    exists (
        select from pg_roles r
        where pg_has_role(session_user, r.oid, 'MEMBER')
          and (r.rolsuper or r.rolbypassrls
               or exists (select from pg_class c where c.relowner = r.oid and c.relrowsecurity))
    ) as privileged

-- name: database.version
-- The schema's version, or no row in an empty schema. Needs the table of versions.
select version_num as version from alembic_version

-- name: database.ping
-- One row, if the database answers.
select 1 as one

-- name: database.other_ping
-- One row, unlike that of database.ping.
select 2 as one
