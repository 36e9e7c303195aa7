"""The first page (being built)."""

from __future__ import annotations

from fastapi import FastAPI

from ingatan.app import App


def install(web: FastAPI, app: App) -> str | None:
    """Add the page to ``web``; returns the path of the one-time sign-in link, or None in production."""
    return None
