"""The command line: serve, and the operator's jobs. Each job prints one summary line, or JSON with ``--json``.

Commands attach to a running service's embedded server, or start one for their own duration. Heavy parts are imported
by the commands that need them, so that ``--help`` is quick.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import typer

from ingatan import settings as configuration
from ingatan import telemetry
from ingatan.errors import IngatanError
from ingatan.policy_commands import PolicyCommands
from ingatan.settings import Environment, Settings
from ingatan.types import Principal, Role

app = typer.Typer(name="ingatan", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
audit = typer.Typer(no_args_is_help=True, help="The audit chain.")
app.add_typer(audit, name="audit")
index = typer.Typer(no_args_is_help=True, help="The vectors by which memories are found.")
app.add_typer(index, name="index")

DEMO: dict[str, Any] = {
    "environment": "development",
    "memory": {"enabled": "true", "idle_minutes": "2", "sweep_interval_seconds": "30"},
}
"""What --demo sets where the environment does not: S1's values for tests."""

DataDirectory = Annotated[Path | None, typer.Option("--data-dir", help="Where the embedded database and keys are.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Tenant = Annotated[str, typer.Option("--tenant", help="Name of the tenant.")]


for _entry in entry_points(group="ingatan.commands"):  # the evaluation, which imports us and not the other way
    app.command(_entry.name)(_entry.load())


@contextmanager
def _explained() -> Iterator[None]:
    """Turn our errors into one line and exit code 1."""
    try:
        yield
    except IngatanError as error:
        message = str(error)
    except UnicodeEncodeError:
        message = "An argument is not valid UTF-8 text."
    except OSError as error:
        message = f"{error.strerror or type(error).__name__}: {error.filename or ''}".rstrip(": ")
    else:
        return
    typer.secho(f"ingatan: {message}", err=True, fg=typer.colors.RED)
    raise typer.Exit(1)


def _settings(data_directory: Path | None, **defaults: Any) -> Settings:
    """Settings of the environment; below them what the service in the data directory was started with.

    That counts only where the environment says neither which environment this is nor which database: a demo in the same
    directory must not colour a production command.
    """
    first = configuration.load()
    directory = data_directory or first.server.data_directory
    told = configuration.given("ENVIRONMENT") or configuration.given("DATABASE__URL")
    remembered = {} if told else _read_run(directory)
    return configuration.load(**{**remembered, **defaults, "server": {"data_directory": directory}})


def _read_run(directory: Path) -> dict[str, Any]:
    try:
        found = json.loads((directory / "service.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _say(summary: str, data: dict[str, Any], as_json: bool) -> None:
    typer.echo(json.dumps(data, default=str) if as_json else summary)


@app.command()
def serve(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Port to listen on.")] = 8765,
    data_dir: DataDirectory = None,
    demo: Annotated[bool, typer.Option("--demo", help="Development mode with memory on and a loaded demo.")] = False,
) -> None:
    """Serve the API and the first page."""
    from ingatan import service  # noqa: PLC0415 - only this command needs the web stack

    with _explained():
        defaults = DEMO if demo else {}
        directory = data_dir or configuration.load().server.data_directory
        settings = configuration.load(**{**defaults, "server": {"data_directory": directory}})
        telemetry.configure(settings.server.log_level)
        service.run(settings, host=host, port=port, with_demo=demo, remembered=defaults)


@app.command()
def token(
    subject: Annotated[str, typer.Option("--subject", help="UUID (or name) of the person.")],
    tenant: Tenant = "default",
    role: Annotated[list[Role] | None, typer.Option("--role", help="Role; may be repeated. Default: user.")] = None,
    ttl: Annotated[int, typer.Option("--ttl", min=1, max=31_536_000, help="Seconds the token is valid.")] = 3600,
    data_dir: DataDirectory = None,
) -> None:
    """Print a bearer token signed by the data directory's development key. Refused in production."""
    from ingatan import identity, keys  # noqa: PLC0415 - the crypto stack is not needed for --help

    with _explained():
        settings = _settings(data_dir)
        if settings.environment is not Environment.DEVELOPMENT:
            raise IngatanError(
                "Development tokens are refused in production. Set INGATAN_ENVIRONMENT=development, or get a token "
                "from your identity provider."
            )
        key = keys.development_key(settings.server.data_directory)
        roles = role or [Role.USER]
        for value in (subject, tenant):
            if not 0 < len(value.strip()) <= identity.SUBJECT_CHARS_MAX:
                raise IngatanError(f"Subject and tenant take 1 to {identity.SUBJECT_CHARS_MAX} characters.")
        typer.echo(identity.development_token(key, subject=subject, tenant=tenant, roles=roles, ttl_seconds=ttl))


@app.command()
def migrate(
    sql: Annotated[bool, typer.Option("--sql", help="Print the SQL instead of running it.")] = False,
    data_dir: DataDirectory = None,
    as_json: AsJson = False,
) -> None:
    """Bring the database schema to this release's version."""
    from ingatan.storage import embedded  # noqa: PLC0415 - only this command migrates
    from ingatan.storage import migrate as migrations  # noqa: PLC0415

    with _explained():
        if sql:
            typer.echo(migrations.migration_sql())
            return
        settings = _settings(data_dir)
        url = settings.database.admin_url.get_secret_value()
        if url:
            version = migrations.migrate(url)
        else:
            with embedded.borrow_or_start(settings.server.data_directory) as server:
                version = migrations.migrate(server.url(embedded.OWNER))
        _say(f"The schema is at version {version}.", {"version": version}, as_json)


@app.command()
def sweep(
    once: Annotated[bool, typer.Option("--once", help="Run one sweep now (idle time is respected).")] = False,
    abandoned: Annotated[bool, typer.Option("--abandoned", help="List spans whose last attempt failed.")] = False,
    requeue: Annotated[UUID | None, typer.Option("--requeue", help="Queue this conversation's spans again.")] = None,
    data_dir: DataDirectory = None,
    as_json: AsJson = False,
) -> None:
    """Learn from conversations that have ended."""
    with _explained(), _app(data_dir) as running:
        if abandoned or requeue:
            _abandoned(running, requeue, as_json)
            return
        if not once:
            raise IngatanError("Give --once, --abandoned or --requeue. 'ingatan serve' sweeps continuously.")
        memory = running.settings.memory
        if not (memory.enabled and memory.write_enabled):
            raise IngatanError("Memory is off or not written (INGATAN_MEMORY__ENABLED, __WRITE_ENABLED).")
        report = running.sweeper.sweep()
        data = {name: getattr(report, name) for name in report.__slots__}
        if not report.led:
            _say("Another process leads the sweep right now; nothing was done.", data, as_json)
            return
        counts = f"{report.conversations} conversations, {report.written} written, {report.closed} closed"
        _say(f"Swept {counts}, {report.rejected} refused, {report.failed} failed.", data, as_json)


def _abandoned(running: Any, requeue: UUID | None, as_json: bool) -> None:
    from ingatan import abandoned  # noqa: PLC0415 - only this option needs it

    if requeue is not None:
        lanes = abandoned.requeue(running.database, running.audit, requeue)
        _say(f"Queued again: {lanes} lanes of conversation {requeue}.", {"lanes": lanes}, as_json)
        return
    rows = abandoned.listed(running.database)
    lines = [
        f"{row.at:%Y-%m-%d %H:%M} {row.conversation_id} turns {row.from_seq + 1}-{row.to_seq}: {row.reason}"
        for row in rows
    ]
    _say("\n".join([*lines, f"{len(rows)} abandoned spans."]), {"items": [row._asdict() for row in rows]}, as_json)


@app.command()
def rescan(
    close: Annotated[bool, typer.Option("--close", help="Close what is refused now; without it only report.")] = False,
    data_dir: DataDirectory = None,
    as_json: AsJson = False,
) -> None:
    """Screen every memory of every tenant again, as after an upgrade: counts and ids by reason, never a text.

    What was closed stays in its closed rows until it is erased ('ingatan erase --memory').
    """
    from ingatan import rescan as rescans  # noqa: PLC0415 - only this command needs it

    with _explained(), _app(data_dir) as running:
        found = rescans.rescan(
            running.database,
            running.audit,
            close=close,
            tell=lambda read: typer.echo(f"{read} memories read ...", err=True),
        )
        lines = [f"{each.tenant_id} {each.memory_id}: {', '.join(each.reasons)}" for each in found.listed]
        counts = f"{found.memories} memories of {found.owners} people, {found.refused} refused now"
        _say("\n".join([*lines, f"Read {counts}, {found.closed} closed."]), found.as_json(), as_json)


@app.command()
def erase(
    subject: Annotated[str | None, typer.Option("--subject", help="Everything remembered about this person.")] = None,
    memory: Annotated[UUID | None, typer.Option("--memory", help="Only this memory (needs --subject).")] = None,
    conversation: Annotated[
        UUID | None, typer.Option("--conversation", help="Only what was written from it (needs --subject).")
    ] = None,
    tenant: Tenant = "default",
    reason: Annotated[str, typer.Option("--reason", help="Why; kept in the receipt.")] = "operator_request",
    data_dir: DataDirectory = None,
    as_json: AsJson = False,
) -> None:
    """Erase memories for good and print the receipt."""
    from ingatan import erasure, identity  # noqa: PLC0415 - only this command erases

    with _explained(), _app(data_dir) as running:
        if subject is None or not _named(subject, tenant):
            raise IngatanError(
                "Say whose memories: --subject, the UUID or name in their tokens. A blank or a wildcard names nobody."
            )
        issuer = running.settings.security.issuer or identity.DEVELOPMENT_ISSUER
        person = Principal(identity.tenant_uuid(tenant), identity.subject_uuid(issuer, subject))
        _check_tenant(running, person, tenant)
        with running.database.write(person) as connection:
            receipt = erasure.erase_memories(
                connection,
                person,
                running.audit,
                running.secrets.erasure,
                memory_id=memory,
                conversation_id=conversation,
                reason=reason,
            )
        count = receipt.removed["memories"]
        _say(f"Erased {count} memories; receipt {receipt.id}.", receipt.as_json(), as_json)


def _check_tenant(running: Any, who: Principal, tenant: str) -> None:
    """Raise IngatanError for a tenant that nobody was ever seen in: a misspelt name must not pass as success."""
    with running.database.jobs() as connection:
        known = {row.id for row in connection.all("sweep.tenants")}
    if who.tenant_id not in known:
        raise IngatanError(f"There is no tenant '{tenant}' here. Check --tenant; a UUID or the name in its tokens.")


def _named(*values: str) -> bool:
    """Whether every value is a name: neither blank nor a wildcard, which must never stand for everyone."""
    return all(value.strip() not in {"", "*", "%", "null"} for value in values)


@audit.command("verify")
def audit_verify(tenant: Tenant = "default", data_dir: DataDirectory = None, as_json: AsJson = False) -> None:
    """Check a tenant's audit chain and name the first broken row. A tail cut with its head is not seen yet."""
    from ingatan import identity  # noqa: PLC0415 - only this command needs it
    from ingatan.storage.database import Power  # noqa: PLC0415

    with _explained(), _app(data_dir) as running:
        running.seal()
        who = Principal(identity.tenant_uuid(tenant), UUID(int=0))
        _check_tenant(running, who, tenant)
        with running.database.read(who, power=Power.AUDIT) as connection:
            found = running.audit.verify(connection, who.tenant_id)
        data = {"sound": found.sound, "rows": found.rows, "broken_seq": found.broken_seq, "reason": found.reason}
        if found.sound:
            _say(f"The chain is sound: {found.rows} rows.", data, as_json)
            return
        _say(f"The chain is broken at row {found.broken_seq}: {found.reason}.", data, as_json)
        raise typer.Exit(1)


@index.command("rebuild")
def index_rebuild(
    everything: Annotated[
        bool, typer.Option("--all", help="Make every vector anew, also those that are there.")
    ] = False,
    data_dir: DataDirectory = None,
    as_json: AsJson = False,
) -> None:
    """Make every missing vector of the embedding model in the settings; the old model serves meanwhile.

    Can be stopped and run again. A service started with the same settings then lets the new model serve.
    """
    with _explained(), _app(data_dir) as running:

        def tell(left: int) -> None:
            typer.echo(f"{left} vectors to be made ...", err=True)

        found = running.projections.rebuild(everything=everything, tell=tell)
        made = found.memories - found.pending
        _say(
            f"{found.name} ({found.state}): {made} of {found.memories} memories have a vector.",
            found.as_json(),
            as_json,
        )
        if found.pending:
            raise typer.Exit(1)


@index.command("calibrate")
def index_calibrate(data_dir: DataDirectory = None, as_json: AsJson = False) -> None:
    """Measure how similar unrelated sentences are under the model that serves, by language, and store it."""
    with _explained(), _app(data_dir) as running:
        found = running.projections.calibrate()
        model = running.projections.current.embedder.name
        shown = ", ".join(f"{language} {mean:.3f} ± {deviation:.3f}" for language, (mean, deviation) in found.items())
        data = {language: {"mean": mean, "deviation": deviation} for language, (mean, deviation) in found.items()}
        _say(f"{model}: {shown}.", {"model": model, "calibration": data}, as_json)


@index.command("status")
def index_status(data_dir: DataDirectory = None, as_json: AsJson = False) -> None:
    """Show every embedding model: which serves, and how many vectors are still to be made."""
    with _explained(), _app(data_dir) as running:
        found = running.projections.progress()
        lines = [
            f"{model.name}: {model.state}, {model.pending} of {model.memories} to be made"
            + ("" if model.available else ", not in the settings")
            for model in found
        ]
        _say("\n".join(lines), {"items": [model.as_json() for model in found]}, as_json)


@app.command()
def doctor(data_dir: DataDirectory = None, as_json: AsJson = False) -> None:
    """Check that everything Ingatan needs is there and usable, and say what to do where it is not."""
    from ingatan import diagnosis  # noqa: PLC0415 - only this command needs it

    with _explained():
        findings = diagnosis.examine(_settings(data_dir))
        if as_json:
            typer.echo(json.dumps([finding.as_json() for finding in findings]))
        else:
            for finding in findings:
                typer.echo(f"{'ok  ' if finding.sound else 'FAIL'} {finding.what}: {finding.detail}")
        if not all(finding.sound for finding in findings):
            raise typer.Exit(1)


@contextmanager
def _app(data_directory: Path | None) -> Iterator[Any]:
    from ingatan.app import App  # noqa: PLC0415 - commands that do not touch data stay quick

    settings = _settings(data_directory)
    telemetry.configure("warning", stream=sys.stderr)
    running = App.start(settings, borrow=True)
    try:
        yield running
    finally:
        running.close()


_policy = PolicyCommands(explained=_explained, opened=_app, say=_say, check_tenant=_check_tenant)
app.add_typer(_policy.group(), name="policy")
