"""Credentials that can be told by how they look. Knows nothing of what is done with them.

Most forms begin with a mark of their issuer (`ghp_`), so a plain search for the mark comes first: a text without any costs a few
microseconds. Where a pattern begins it takes all that can belong to the credential, and only then is looked at whether that is
one; so no text is read twice, however it was made up. Patterns of the maintained detector are bounded in length.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

from lamplighter import lazy_re as re
from lamplighter.lazy_dataclass import dataclass

_TOKEN = r"[A-Za-z0-9_-]"
_REST = re.compile(_TOKEN + "*+")
_WORD = r"(?:[A-Z]?[a-z]{1,24}|[A-Z]{1,24})"  # what is longer is no word, also when it has letters alone
_WORDS = re.compile(rf"{_WORD}(?:[-_./:]{_WORD})*[-_./:]?")
_ASCII_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


class FoundSecret(NamedTuple):
    """Where a secret is, and what it seems to be."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True)
class Form:
    """`marks`: one of them is in every such credential. `least`: how long the whole is, mark and all. `words`: it may consist of
    plain ones. The secret is the pattern's group `secret`, or all of it."""

    kind: str
    marks: tuple[str, ...]
    pattern: re.Pattern[str]
    least: int = 0
    words: bool = False

    def find(self, text: str) -> Iterator[FoundSecret]:
        if not any(mark in text for mark in self.marks):
            return
        group = "secret" if "secret" in self.pattern.groupindex else 0
        for match in self.pattern.finditer(text):
            start, end = match.span(group)
            if start >= 0 and end - start >= self.least and (self.words or not worded(text[start:end])):
                yield FoundSecret(start, end, self.kind)


def credentials(text: str) -> Iterator[FoundSecret]:
    for form in (*FORMS, *_detector()):
        yield from form.find(text)


def worded(text: str) -> bool:
    """Whether it is made of plain words (`task-runner`, `xxxx`): an identifier or a stand-in, no random secret."""
    return _WORDS.fullmatch(text) is not None


def lowered(text: str) -> str:
    """In lower case, each character where it was (some have two in lower case)."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text.translate(_ASCII_LOWER)


def _begins(kind: str, marks: str, least: int, more: str = "") -> Form:
    """A form that begins with one of the marks; `more`: what may be in it beside letters, digits, _ and -."""
    words = tuple(marks.split())
    beginning = "|".join(re.escape(word) for word in words)
    return Form(kind, words, re.compile(rf"(?:{beginning})[A-Za-z0-9_{more}-]*+"), least)


FORMS: tuple[Form, ...] = (
    _begins("lamplighter token", "lamp_", 40),
    Form(
        "aws access key",
        ("AKIA", "ASIA", "ABIA", "ACCA"),
        re.compile(r"A(?:KI|SI|BI|CC)A[A-Z0-9]{16}[A-Za-z0-9]*+"),
        words=True,
    ),
    _begins("aws bedrock key", "ABSK", 60, "+/="),
    _begins("github token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", 26, "."),
    _begins(
        "gitlab token",
        "glpat- gldt- glrt- glrtr- glptt- glcbt- gloas- glsoat- glagent- glimt- glft- glffct- GR1348941",
        24,
        ".",
    ),
    _begins("slack token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxe.xox xoxo- xoxp- xoxr- xoxs- xapp-", 20, "%"),
    Form(
        "slack webhook", ("hooks.slack",), re.compile(r"hooks\.slack(?:-gov)?\.com/[a-z]{4,12}/(?P<secret>[\w/]*+)"), 20
    ),
    _begins("stripe key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", 24, "+/="),
    _begins("anthropic key", "sk-ant-", 24),
    _begins("openai key", "sk-proj- sk-svcacct- sk-admin- sk-None-", 28),
    _begins("openrouter key", "sk-or-v1- sk-or-", 32),
    # `sk-` alone ends many words (task-, disk-): then it has to stand by itself, or to mix letters and digits as ids do not.
    Form("api key", ("sk-",), re.compile(r"(?<![A-Za-z0-9])sk-[A-Za-z0-9]*+"), 35),
    Form("api key", ("sk-",), re.compile(r"sk-(?=[a-z0-9]{0,99}[A-Z])(?=[A-Z0-9]{0,99}[a-z])[A-Za-z0-9]*+"), 35),
    _begins("google key", "AIza GOCSPX- ya29.", 30, "."),
    _begins("npm token", "npm_", 40),
    _begins("pypi token", "pypi-AgE", 40),
    Form("twilio key", ("AC", "SK"), re.compile(r"(?:AC|SK)[a-f0-9]{32}")),
    _begins("sendgrid key", "SG.", 50, "."),
    Form("json web token", ("eyJ",), re.compile(r"(?P<secret>eyJ[\w=-]*+\.[\w=-]{4,}+[\w=.+/-]*+)|eyJ[\w=-]*+"), 24),
    _begins("huggingface token", "hf_ api_org_", 34),
    _begins("digitalocean token", "dop_v1_ doo_v1_ dor_v1_", 60),
    _begins("vault token", "hvs. hvb. hvr.", 28),
    _begins("doppler token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", 40, "."),
    _begins("atlassian token", "ATATT3 ATCTT3 ATBB", 30, "="),
    _begins("databricks token", "dapi", 36),
    _begins("grafana token", "glsa_ glc_", 36, "+/="),
    _begins("shopify token", "shpat_ shpss_ shpca_ shppa_", 38),
    _begins("docker token", "dckr_pat_ dckr_oat_", 36),
    _begins("tailscale key", "tskey-", 24),
    _begins("age key", "AGE-SECRET-KEY-1", 60),
    _begins("sentry token", "sntrys_ sntryu_", 50, "+/="),
    _begins("linear key", "lin_api_ lin_oauth_", 40),
    _begins("notion token", "ntn_ secret_", 46),
    _begins("supabase key", "sbp_ sb_secret_", 30),
    _begins("planetscale token", "pscale_tkn_ pscale_pw_ pscale_oauth_", 40, "."),
    _begins("postman key", "PMAK-", 50),
    _begins("new relic key", "NRAK- NRJS-", 24),
    _begins("groq key", "gsk_", 44),
    _begins("xai key", "xai-", 60),
    _begins("perplexity key", "pplx-", 44),
    _begins("replicate token", "r8_", 36),
    _begins("figma token", "figd_", 36),
    _begins("rubygems key", "rubygems_", 50),
    _begins("pulumi token", "pul-", 44),
    _begins("1password token", "ops_eyJ", 60, "="),
    _begins("fly token", "fm1r_ fm1a_ fm2_ fo1_", 40, "+/=,"),
    _begins("terraform token", ".atlasv1.", 60, "="),
    Form("telegram token", (":AA",), re.compile(r"[0-9]{8,10}:AA[\w-]{32,34}")),
    Form("azure secret", ("8Q~",), re.compile(r"[\w~.-]{3}8Q~[\w~.-]*+"), 37),
    Form("signature", ("sig=",), re.compile(r"[?&](?:amp;)?sig=(?P<secret>[\w%+/=-]*+)"), 40),
    # A variable ($X, {x}, %s, ***) is no password; a digest after the @ makes it an image's name, not a host's.
    Form(
        "password",
        ("://",),
        re.compile(r"://[^\s/?#\"'`<>:@\[]*+:(?!\$[\w{(]|[{*%])(?P<secret>[^\s/\"'`<>]+)@(?!sha256:)"),
        words=True,
    ),
)


# Of the detector's plugins: the kind, the module and class, which are imported on use, and the marks. Not taken: its guesses by
# entropy and by keyword (false alarms on prose and code; assignments.py has the latter), private keys (it takes a line of them),
# JSON web tokens (only whole ones), passwords in URLs (not with every sign in them), Azure keys (they look like a lock file's
# checksums; assignments.py knows them by name).
DETECTOR: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("artifactory credential", "artifactory:ArtifactoryDetector", ("AKC",)),
    ("aws key", "aws:AWSKeyDetector", ("aws", "AWS", "Aws", "A3T")),
    ("cloudant credential", "cloudant:CloudantDetector", ("cloudant", "CLOUDANT", "Cloudant")),
    ("discord token", "discord:DiscordBotTokenDetector", (".",)),
    ("github token", "github_token:GitHubTokenDetector", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_")),
    ("ibm key", "ibm_cloud_iam:IbmCloudIamDetector", ("ibm", "IBM", "iam_", "IAM_")),
    ("ibm key", "ibm_cos_hmac:IbmCosHmacDetector", ("cos_", "COS_", "ibm", "IBM")),
    ("mailchimp key", "mailchimp:MailchimpDetector", ("-us",)),
    ("npm token", "npm:NpmDetector", ("npm_", "NPM", "_authToken")),
    ("sendgrid key", "sendgrid:SendGridDetector", ("SG.",)),
    ("slack token", "slack:SlackDetector", ("xox", "XOX")),
    ("softlayer credential", "softlayer:SoftlayerDetector", ("softlayer", "SOFTLAYER")),
    ("square secret", "square_oauth:SquareOAuthDetector", ("sq0csp-",)),
    ("stripe key", "stripe:StripeDetector", ("k_live_",)),
    ("twilio key", "twilio:TwilioKeyDetector", ("AC", "SK")),
)
_WHOLE = frozenset({"github token"})  # whose pattern has its only group around the mark
_SLOW = "artif"  # a pattern that looks over lines for every such word: its time grows with the square of the text
_AROUND = ' \t\r\n"=:'
_DIGEST = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(frozen=True)
class Detected:
    """A pattern of the detector's."""

    kind: str
    marks: tuple[str, ...]
    pattern: re.Pattern[str]

    def find(self, text: str) -> Iterator[FoundSecret]:
        if not any(mark in text for mark in self.marks):
            return
        done = 0
        for match in self.pattern.finditer(text):
            if match.start() < done:
                continue
            start, end = match.span(0 if self.kind in _WHOLE else match.lastindex or 0)
            value = text[start:end].rstrip(_AROUND)
            start += len(value) - len(value.lstrip(_AROUND))
            rest = _REST.match(
                text, start + len(value.strip(_AROUND))
            )  # some patterns stop before a longer secret does
            end = done = rest.end() if rest else end
            if not _ordinary(text[start:end]):
                yield FoundSecret(start, end, self.kind)


def _ordinary(value: str) -> bool:
    """A digest of git's or of a lock file, a path, a variable: what the detector takes for a secret beside a suspicious word."""
    path = "/" in value and (value == value.lower() or not any(character.isdigit() for character in value))
    return path or value[:1] in "$*{" or worded(value) or _DIGEST.fullmatch(value) is not None


@cache
def _detector() -> tuple[Detected, ...]:
    forms: list[Detected] = []
    for kind, place, marks in DETECTOR:
        module, name = place.split(":")
        plugin: Any = getattr(importlib.import_module(f"detect_secrets.plugins.{module}"), name)
        patterns: Iterable[re.Pattern[str]] = plugin.denylist
        forms += [Detected(kind, marks, pattern) for pattern in patterns if _SLOW not in pattern.pattern]
    return tuple(forms)
