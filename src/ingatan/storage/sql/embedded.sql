-- name: embedded.passwords
-- Hand the roles' passwords to ``embedded.roles`` within this transaction, as parameters rather than as SQL.
select
    set_config('ingatan.password_owner', %(owner)s, true),
    set_config('ingatan.password_app', %(app)s, true)

-- name: embedded.roles
-- Create the roles, or set their passwords; in the transaction of ``embedded.passwords``. May be repeated.
do $$
begin
    if to_regrole('ingatan_owner') is null then create role ingatan_owner login; end if;
    if to_regrole('ingatan_app') is null then create role ingatan_app login; end if;
    if to_regrole('ingatan_jobs') is null then create role ingatan_jobs nologin; end if;
    if to_regrole('ingatan_dba') is null then create role ingatan_dba nologin; end if;
    execute format('alter role ingatan_owner password %%L', current_setting('ingatan.password_owner'));
    execute format('alter role ingatan_app password %%L', current_setting('ingatan.password_app'));
    grant ingatan_jobs to ingatan_app with inherit false, set true;
    alter role ingatan_app set statement_timeout = '30s';
    alter role ingatan_app set lock_timeout = '10s';
    alter role ingatan_app set idle_in_transaction_session_timeout = '60s';
end
$$

-- name: embedded.vector
-- Have the extension in the template, so that every database made from it has it; only a superuser may add it.
create extension if not exists vector

-- name: embedded.database_exists
-- One row if the database is there.
select from pg_database where datname = %(name)s

-- name: embedded.create_database
-- A database of the owner's from a template nobody is connected to. Braces are filled in as quoted identifiers.
create database {name} template {template} owner ingatan_owner

-- name: embedded.drop_database
-- Remove a database and end its connections. Braces are filled in as quoted identifiers.
drop database if exists {name} with (force)
