"""What no prompt may say: the user owns the dials, so no page, shipped or overridden, puts turning one into a model's
head, nor how to get round an approval.

It reads sentences, not words: `You are in plan mode` and `change the file mode` are no suggestion, `go autonomous` is.
"""

from __future__ import annotations

import re
from functools import lru_cache

from quintet.domain.base.lazy_regex import regex

_NEAR = r"\b[^.!?\n]{0,40}?\b"  # within a sentence
# Verbs of turning, with their endings.
_TURN = (
    r"(?:switch|chang|turn|set|mov|flip|go|enter|exit|leav|rais|lower|loosen|tighten|toggl|enabl|disabl|adjust|overrid"
    r"|bump|increas|decreas|upgrad|elevat|escalat|select|choos|activat|request|drop|revert|resum|continu|proceed|put"
    r"|becom|pick|return|modif|ask(?: the user)? for|want)"
    r"(?:e|ed|es|s|y|ies|ing|ped|ping|ting|ging)?"
)
_USE = r"(?:us(?:e|es|ing)|work(?:s|ing)?|run(?:s|ning)?|start(?:s|ing)?)"
_DIAL = r"(?:work[ _-]?mode|run[ _-]?control|permission[ _-]?profile|model[ _-]?mode|dials?)"
_NAMED = (  # a position of a dial, by the dial's own word
    r"(?:(?:chat|agent|plan|build|review|repair|research) (?:work )?mode"
    r"|(?:manual|assisted|autonomous) (?:run )?(?:mode|control)"
    r"|(?:restricted|normal|trusted|unrestricted) (?:permission )?(?:mode|profile|permissions)"
    r"|(?:fast|smart|deep) (?:model )?mode)"
)
_LOOSE = r"(?:trusted|unrestricted|autonomous)"
_ADVISE = r"(?:recommend|suggest|propos|advis|prefer|encourag|urg|offer|insist|demand|grant|accept|give|opt)"
_LOOSER = (  # more than there is, whatever the dial is called
    r"(?:(?:trusted|unrestricted|autonomous|elevated|full|fuller|higher|looser|unlimited|more) "
    r"(?:permissions?|privileges|permission profile|profile|mode|run control))"
)
_ENDS = r"(?=\s*(?:$|[.,;:!?)\n]|(?:and|or|when|if|first|now|then|while|until|instead|for)\b))"
_SUGGESTS = regex(
    "|".join(
        (
            rf"\b{_TURN}{_NEAR}(?:{_DIAL}|{_NAMED})\b",
            rf"\b{_ADVISE}(?:e|es|ed|s|ing|red|ring)?{_NEAR}{_LOOSER}\b",
            rf"\b{_USE} (?:yourself )?(?:in |with )?(?:the |an? )?{_NAMED}\b",
            rf"\b{_TURN}{_NEAR}(?:in)?to (?:the |be )?{_LOOSE}{_ENDS}",
            rf"\b(?:go|goes|going|become|becoming|get|getting|turn|turning|be|run|work) (?:fully |more |completely )?"
            rf"{_LOOSE}{_ENDS}",
            r"\b(?:rais|elevat|escalat|increas|loosen|(?:ask|request)(?: the user)? (?:for )?)(?:e|es|ing|s|ed)?"
            rf"{_NEAR}"
            r"(?:(?:higher|looser|more|your|the|its) (?:permissions?|privileges|profile))\b",
            r"\b(?:turn(?:ing)? off|switch(?:ing)? off|disabl(?:e|ing)|skip(?:ping)?|bypass(?:ing)?"
            rf"|circumvent(?:ing)?){_NEAR}(?:approvals?|sandbox|permission (?:gate|checks?))\b",
            rf"\b(?:enabl|disabl|toggl)(?:e|ed|es|ing){_NEAR}reasoning\b",
            rf"\b(?:turn|switch)(?:ed|es|s|ing)? (?:on|off) (?:the |visible )*reasoning\b"
            rf"|\b(?:turn|switch)(?:ed|es|s|ing)?{_NEAR}reasoning (?:on|off)\b",
            r"(?<![\w/.-])/(?:mode|control|permission-profile|model-mode|steer|reasoning|autonomous|assisted|manual|trust)"
            r"(?![\w/-]|\.\w)",
            r"(?<!\S)`*--(?:permission-profile|model-mode|work-mode|control)\b|\bQUINTET_DIALS_\w+",
            r"\b(?:work_mode|run_control|permission_profile|model_mode)\s*[=:]",
        )
    ),
    re.I,
)
_WRAPPED = regex(r"\n(?!\s*(?:[-*#>|]|\d+[.)]|\n|$))")  # the line goes on in the next
_MARKS = regex("[*`\u200b-\u200f\u2060\ufeff\u00ad]")  # emphasis, and what the eye would not see


@lru_cache(maxsize=256)  # the shipped pages are the same in every session of a process, and take 10 ms
def suggested(text: str) -> str:
    """What a page says that it may not; empty if it is fine."""
    found = _SUGGESTS.search(_MARKS.sub("", _WRAPPED.sub(" ", text)))
    return found[0] if found else ""
