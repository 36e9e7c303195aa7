"""Text that plays a part of the prompt: roles, tags and delimiters."""

from __future__ import annotations

import re
from functools import cache

from ingatan.screening.detector import Detector
from ingatan.screening.view import View
from ingatan.types import Reason


@cache
def _fake() -> re.Pattern[str]:
    part = (
        r"(?:system|user|assistant|developer|human|ai|bot|tool|function|admin|memory|memories|context|instructions?"
        r"|prompts?|data|untrusted|reference|rules?|policy|documents?|messages?|im_start|im_end|endoftext|sys|inst)"
    )
    role = r"(?:system|assistant|developer|human|sistem|hệ thống|trợ lý|user|asisten|admin)"
    return re.compile(
        rf"<\s{{0,3}}/?\s{{0,3}}{part}\b[^<>]{{0,80}}>|<\|[^|]{{0,40}}\|>|\[/?(?:inst|{role}|end of [^\]]{{1,30}})\]"
        rf"|<<\s*/?sys\s*>>"
        rf"|(?:^|[\n.!?\"'#*>`-]\s{{0,5}}){role}(?: message| prompt| note| override)?\s*(?::|=>|>>)"
        rf"|(?<!#)#{{2,6}}\s{{0,3}}{part}\b|```\s{{0,3}}{part}\b|(?<!-)-{{3,12}}\s{{0,3}}(?:begin|end|new)?\s*{part}|(?<!=)={{3,12}}\s{{0,3}}(?:begin"
        rf"|end)?\s*{part}"
        r"|!\[[^\]]{0,200}\]\(|<\s*(?:script|iframe|img|svg|a\s+href|style|meta|form)\b"
        r"|\{\{[^}]{0,200}\}\}|\{%[^%]{0,200}%\}"
        rf"|\{{\s*\"?(?:role|tool_calls?|function_call|operations?)\"?\s*:"
    )


def _finds(view: View) -> bool:
    return bool(_fake().search(view.text))


DETECTOR = Detector(
    name="delimiters",
    reason=Reason.INSTRUCTION,
    finds=_finds,
    guessed=True,
    reads="roles, tags, template signs and tool calls of a prompt",
    example="a closing tag and a system message",
)
