"""Tokens and keys of services, each by the form its issuer gives it.

Every form is (name, what it begins with, what follows). A token broken by spaces, line ends or invisible signs is read
with those taken out; a first part of it alone, in a sentence of its own, still begins like one and is enough.
"""

from __future__ import annotations

import re
from functools import cache

from ingatan.screening.detector import Detector
from ingatan.screening.view import View
from ingatan.types import Reason

FORMS: tuple[tuple[str, str, str], ...] = (
    ("aws", r"(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA)", r"[0-9A-Z]{6,}"),
    ("github", r"gh[opsur]_", r"W{8,}"),
    ("github", r"github_pat_", r"\w{8,}"),
    ("gitlab", r"gl(?:pat|dt|cbt|rt|ptt|ft|soat|oas|agent|imt|feat)-", r"[\w-]{8,}"),
    ("slack", r"xox[abceoprs]-", r"[0-9A-Za-z-]{8,}"),
    ("slack", r"xapp-\d-", r"[0-9A-Za-z-]{6,}"),
    ("google", r"AIza", r"[\w-]{12,}"),
    ("google", r"GOCSPX-", r"[\w-]{8,}"),
    ("google", r"ya29\.", r"[\w-]{10,}"),
    ("jwt", r"eyJ[\w-]{6,}\.", r"(?:eyJ)?[\w-]{4,}"),
    ("stripe", r"[rs]k_(?:live|test)_", r"W{8,}"),
    ("stripe", r"whsec_", r"W{8,}"),
    ("openai", r"sk-(?:proj|svcacct|admin|None)-", r"[\w-]{8,}"),
    ("anthropic", r"sk-ant-", r"[\w-]{8,}"),
    ("models", r"sk-(?:or|lf|kimi)-", r"[\w-]{12,}"),
    ("models", r"(?:gsk_|xai-|pplx-|r8_|pcsk_|nvapi-|fw_|csk-)", r"D[\w-]{12,}"),
    ("hugging_face", r"(?:hf_|api_org_)", r"DW{12,}"),
    ("npm", r"npm_", r"DW{12,}"),
    ("pypi", r"pypi-", r"AgE[\w-]{8,}"),
    ("rubygems", r"rubygems_", r"[0-9a-f]{12,}"),
    ("docker", r"dckr_(?:pat|oat)_", r"[\w-]{8,}"),
    ("sendgrid", r"SG\.", r"D[\w-]{12,}"),
    ("twilio", r"(?<![0-9A-Za-z])(?:SK|AC)", r"[0-9a-f]{32}(?![0-9a-f])"),
    ("digitalocean", r"do[opr]_v1_", r"[0-9a-f]{8,}"),
    ("shopify", r"shp(?:at|ss|ca|pa)_", r"[0-9a-f]{8,}"),
    ("square", r"sq0[a-z]{3}-", r"[\w-]{10,}"),
    ("telegram", r"(?<!\d)\d{8,10}:AA", r"[\w-]{10,}"),
    ("discord", r"(?<!\w)[MNO][0-9A-Za-z]{22,27}\.", r"[\w-]{6}\.[\w-]{20,}"),
    ("discord", r"discord(?:app)?\.com/api/webhooks/", r"\d{6,}"),
    ("slack", r"hooks\.slack\.com/(?:services|workflows|triggers)/", r"\w"),
    ("teams", r"webhook\.office\.com/webhookb2/", r"\w"),
    ("vault", r"hv[sbr]\.", r"D[\w-]{12,}"),
    ("doppler", r"dp\.(?:pt|st|ct|sa|scim|audit)\.", r"[\w.-]{8,}"),
    ("linear", r"lin_(?:api|oauth)_", r"W{8,}"),
    ("notion", r"(?:ntn_|secret_)", r"DW{16,}"),
    ("figma", r"fig[dour]_", r"[\w-]{10,}"),
    ("databricks", r"dapi", r"[0-9a-f]{24,}"),
    ("planetscale", r"pscale_(?:tkn|pw|oauth)_", r"[\w-]{8,}"),
    ("grafana", r"gl(?:sa|c)_", r"DW{12,}"),
    ("sentry", r"sntry[su]_", r"[\w-]{8,}"),
    ("newrelic", r"NR(?:AK|JS|II)-", r"[0-9A-Za-z]{10,}"),
    ("atlassian", r"(?:ATATT3|ATCTT3|ATBB)", r"[\w-]{12,}"),
    ("postman", r"PMAK-", r"[\w-]{10,}"),
    ("terraform", r"[0-9A-Za-z]{14}\.atlasv1\.", r"[\w-]{10,}"),
    ("cloudflare", r"v1\.0-[0-9a-f]{8,}-", r"[0-9a-f]{8,}"),
    ("mailchimp", r"(?<!\w)[0-9a-f]{32}-us", r"\d{1,2}"),
    ("facebook", r"EAACEdEose0cBA", r"\w"),
    ("airtable", r"pat[0-9A-Za-z]{14}\.", r"[0-9a-f]{12,}"),
    ("age", r"AGE-SECRET-KEY-1", r"[0-9A-Z]{8,}"),
    (
        "others",
        r"(?<![\w-])(?:sk|pk|rk|key|api|tok|token|secret)[-_.]",
        r"(?=[\w-]{0,60}\d[A-Za-z]+\d)(?:[a-z]+[-_])?[\w-]{8,}",
    ),
    ("azure", r"(?i:(?:account|sharedaccess|accountendpoint)key\s{0,2}=\s{0,2})", r"[\w+/]{8,}"),
)
"""``W`` stands for a letter or digit, ``D`` for "a digit within the next signs": ordinary names have none."""
_BREAKS = re.compile(r"[\s\u200b]+")
_SENTENCE = re.compile(r"(?<=\w)[.,;]\s")


@cache
def _forms() -> re.Pattern[str]:
    bodies = (begins + body.replace("W", "[0-9A-Za-z]").replace("D", r"(?=[\w-]{0,30}\d)") for _, begins, body in FORMS)
    return re.compile(rf"(?<![0-9A-Za-z])(?:{'|'.join(bodies)})")


@cache
def _hint() -> re.Pattern[str]:
    """A cheap sign that there may be a token at all: a mark within a word beside letters, or capitals and digits."""
    return re.compile(r"[A-Za-z0-9][_.:/=-][A-Za-z0-9]|[A-Z]{4}|[A-Za-z]\d|\d[A-Za-z]|AI")


def _finds(view: View) -> bool:
    for text in dict.fromkeys((view.raw, view.mapped.text)):
        if not _hint().search(text):
            continue
        if _forms().search(text):
            return True
        joined = _BREAKS.sub("", text)
        if joined != text and _forms().search(joined):
            return True
    return False


DETECTOR = Detector(
    name="credential.token",
    reason=Reason.CREDENTIAL,
    finds=_finds,
    reads="tokens and keys of " + ", ".join(sorted({name for name, _, _ in FORMS})),
    example="an access token of a code host",
)
