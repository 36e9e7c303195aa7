"""``ingatan policy``: show, check and set a tenant's policy document, its history, and its agreement with reviewers."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer
import yaml

from ingatan.errors import BadRequest
from ingatan.types import Principal

if TYPE_CHECKING:
    from ingatan.memories.policy_document import PolicyDocument

HISTORY_MAX = 1_000

Tenant = Annotated[str, typer.Option("--tenant", help="Name of the tenant.")]
DataDirectory = Annotated[Path | None, typer.Option("--data-dir", help="Where the embedded database and keys are.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
File = Annotated[Path, typer.Argument(help="The document, YAML or JSON.")]
Expected = Annotated[int | None, typer.Option("--expected-version", help="Only if this version is in force.")]
Shipped = Annotated[str | None, typer.Option("--profile", help="Print what ships as this profile instead.")]
Moment = Annotated[datetime | None, typer.Option(help="A time in UTC, for example 2026-11-29T10:00:00.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCommands:
    """The commands, over how the command line explains errors, opens the service, prints, and knows tenants."""

    explained: Callable[[], AbstractContextManager[None]]
    opened: Callable[[Path | None], AbstractContextManager[Any]]
    say: Callable[[str, dict[str, Any], bool], None]
    check_tenant: Callable[[Any, Principal, str], None]

    def group(self) -> typer.Typer:
        """The commands as a group of the command line."""
        policy = typer.Typer(no_args_is_help=True, help="The policy by which proposals are decided.")
        policy.command("show")(self.show)
        policy.command("check")(self.check)
        policy.command("set")(self.set)
        policy.command("history")(self.history)
        policy.command("report")(self.report)
        return policy

    def show(
        self,
        tenant: Tenant = "default",
        profile: Shipped = None,
        data_dir: DataDirectory = None,
        as_json: AsJson = False,
    ) -> None:
        """Print the document in force, as YAML; with --profile one that ships, in force or not."""
        if profile is not None:
            self._show_shipped(profile, as_json)
            return
        with self.explained(), self.opened(data_dir) as running:
            version = running.regulator.in_force(self._operator(running, tenant))
            head = f"# {running.regulator.label(version)}, mode {running.regulator.mode}\n"
            data = {"version": version.number, "sha256": version.sha256}
            self._print(head, version.document, data, as_json)

    def _show_shipped(self, profile: str, as_json: bool) -> None:
        with self.explained():
            from ingatan.memories import policies, policy_document  # noqa: PLC0415 - --help is quick without
            from ingatan.policies import PROFILES  # noqa: PLC0415

            if profile not in PROFILES:
                message = f"No profile of this name ships; there are {' and '.join(PROFILES)}."
                raise BadRequest(message, code="profile_unknown")
            document = policy_document.shipped(profile)
            data = {"version": None, "sha256": policies.fingerprint(document)}
            self._print(f"# as it ships: {profile}\n", document, data, as_json)

    def _print(self, head: str, document: PolicyDocument, data: dict[str, Any], as_json: bool) -> None:
        plain = document.model_dump(mode="json", exclude_none=True)
        text = head + yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)
        self.say(text.rstrip(), data | {"document": plain}, as_json)

    def check(self, file: File, as_json: AsJson = False) -> None:
        """Say whether a document is valid, and what to change where it is not."""
        with self.explained():
            from ingatan.memories import policies  # noqa: PLC0415 - --help is quick without

            document = _read(file)
            digest = policies.fingerprint(document)
            summary = f"Valid: profile {document.profile}, {digest[:12]}."
            self.say(summary, {"valid": True, "sha256": digest}, as_json)

    def set(
        self,
        file: File,
        tenant: Tenant = "default",
        expected_version: Expected = None,
        data_dir: DataDirectory = None,
        as_json: AsJson = False,
    ) -> None:
        """Govern a tenant by a document from now on."""
        with self.explained(), self.opened(data_dir) as running:
            who = self._operator(running, tenant)
            version = running.regulator.set(who, _read(file), expected=expected_version)
            summary = f"The policy is at version {version.number} ({version.sha256[:12]})."
            self.say(summary, {"version": version.number, "sha256": version.sha256}, as_json)

    def history(self, tenant: Tenant = "default", data_dir: DataDirectory = None, as_json: AsJson = False) -> None:
        """List a tenant's own versions, newest first."""
        with self.explained(), self.opened(data_dir) as running:
            who = self._operator(running, tenant)
            found = running.regulator.history(who, before=None, limit=HISTORY_MAX)
            items = [
                {"version": one.number, "made_at": one.made_at, "made_by": one.made_by, "sha256": one.sha256}
                for one in found
            ]
            lines = [f"{one.number} {one.made_at:%Y-%m-%d %H:%M} {one.made_by} {one.sha256[:12]}" for one in found]
            self.say("\n".join([*lines, f"{len(found)} versions of its own."]), {"items": items}, as_json)

    def report(
        self,
        tenant: Tenant = "default",
        since: Moment = None,
        until: Moment = None,
        data_dir: DataDirectory = None,
        as_json: AsJson = False,
    ) -> None:
        """Compare the policy's own decisions with reviewers' verdicts."""
        with self.explained(), self.opened(data_dir) as running:
            who = self._operator(running, tenant)
            found = running.regulator.report(who, from_at=_utc(since), to_at=_utc(until))
            agreed = found.agreement
            lines = [f"{said:10} {judged:8} {reason}: {count}" for said, judged, reason, count in agreed.disagreements]
            shares = f"precision {_share(agreed.precision)}, recall {_share(agreed.recall)}"
            summary = f"{agreed.reviewed} reviewed, {found.waiting} waiting; {shares} ({found.policy_version})."
            self.say("\n".join([*lines, summary]), found.as_json(), as_json)

    def _operator(self, running: Any, tenant: str) -> Principal:
        from ingatan import identity  # noqa: PLC0415 - the crypto stack is not needed for --help

        who = Principal(identity.tenant_uuid(tenant), UUID(int=0))
        self.check_tenant(running, who, tenant)
        return who


def _utc(value: datetime | None) -> datetime | None:
    return value.replace(tzinfo=UTC) if value else None


def _share(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3f}"


def _read(file: Path) -> Any:
    from ingatan.memories import policy_document  # noqa: PLC0415 - --help is quick without

    try:
        with file.open(encoding="utf-8") as opened:
            text = opened.read(policy_document.CHARACTERS_MAX + 1)
    except UnicodeDecodeError:
        raise BadRequest("The file is not text in UTF-8.", code="policy_invalid") from None
    return policy_document.parse(text)
