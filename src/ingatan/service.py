"""The service process: an App behind an HTTP server, with what a visitor needs printed at the start."""

from __future__ import annotations

import json
import logging
import signal
import socket
import threading
from typing import Any

import uvicorn
from rich.console import Console

from ingatan import __version__, api, console, demo
from ingatan.app import App
from ingatan.errors import StartRefused
from ingatan.identity import development_token
from ingatan.settings import Environment, Settings
from ingatan.telemetry import Event, event
from ingatan.types import Role

GRACE_SECONDS = 10


def run(settings: Settings, *, host: str, port: int, with_demo: bool, remembered: dict[str, Any]) -> None:
    """Serve until a signal ends it; then stop background work, the pool and an owned embedded server."""
    _check_port(host, port)
    app = App.start(settings)
    try:
        if with_demo:
            load_demo(app)
        if app.server is not None:
            _remember(settings, remembered)
        web = api.create(app)
        address = f"http://{host}:{port}"
        sign_in = console.install(web, app)
        _greet(app, address, sign_in, with_demo=with_demo)
        app.run_background()
        event(
            Event.SERVICE_STARTED,
            version=__version__,
            environment=settings.environment.value,
            memory=settings.memory.enabled,
            address=address,
        )
        # Tracebacks can quote content; what is needed of a defect is in our own event "request failed".
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        config = uvicorn.Config(
            web,
            host=host,
            port=port,
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        _serve_until_signal(uvicorn.Server(config), app)
    finally:
        app.close()
        event(Event.SERVICE_STOPPED, version=__version__)


def _serve_until_signal(server: uvicorn.Server, app: App) -> None:
    """Serve in a thread until SIGINT or SIGTERM, or until the embedded database ends by itself (StartRefused).

    In the main thread the HTTP server would end the process by the signal again after its own shutdown, before ours.
    """
    wanted = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: wanted.set())
    thread = threading.Thread(target=server.run, name="ingatan-http")
    thread.start()
    while thread.is_alive() and not wanted.wait(0.5) and not app.database_ended():
        pass
    server.should_exit = True
    thread.join(GRACE_SECONDS + 5)
    if app.database_ended() and not wanted.is_set():
        raise StartRefused("The embedded database ended by itself, see postgres.log. Start again: it recovers.")


def load_demo(app: App) -> None:
    """Load the demo's conversations once, and learn from them at once."""
    if demo.load(app):
        app.sweeper.sweep()


def _remember(settings: Settings, remembered: dict[str, Any]) -> None:
    """Leave the defaults this service runs with for commands on the same data directory."""
    path = settings.server.data_directory / "service.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(remembered), encoding="utf-8")


def _check_port(host: str, port: int) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise StartRefused(f"Cannot listen on {host}:{port}: {error.strerror}. Choose another --port.") from None


def _greet(app: App, address: str, sign_in: str | None, *, with_demo: bool) -> None:
    out = Console(soft_wrap=True, highlight=False)
    out.print(f"\n[bold]Ingatan {__version__}[/bold] at {address}")
    if sign_in is not None:
        out.print(f"  first page, signed in (works once): {address}{sign_in}")
    out.print(f"  API description: {address}/openapi.json    health: {address}/readyz")
    if with_demo and app.settings.environment is Environment.DEVELOPMENT and app.development_key is not None:
        out.print("  bearer tokens (24 hours):")
        for person in demo.people():
            token = development_token(
                app.development_key, subject=str(person.id), roles=sorted(person.roles), ttl_seconds=86_400
            )
            role = ", reviewer" if Role.REVIEWER in person.roles else ""
            out.print(f"    {person.name} ({person.language}{role}): {token}")
        auditor = development_token(
            app.development_key, subject="demo-auditor", roles=(Role.AUDITOR,), ttl_seconds=86_400
        )
        out.print(f"    auditor: {auditor}")
    out.print("  stop with Ctrl-C\n")
