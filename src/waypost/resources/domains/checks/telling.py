"""What was seen, in words: pure, and in one text whatever went wrong."""

from collections.abc import Mapping

from waypost.outbound import DnsLookup, printable
from waypost.resources.domains.checks import words
from waypost.resources.domains.checks.findings import Claim, Seen

_ABSENT: Mapping[str, str] = {
    "no_name": words.NO_NAME,
    "no_record": words.NO_RECORD,
    "loop": words.LOOP,
    "timed_out": words.TIMED_OUT,
    "unreachable": words.UNREACHABLE,
}


def told(claim: Claim, seen: Seen) -> str:
    names = {"hostname": claim.hostname, "txt_name": claim.txt_name, "token": claim.token, "target": claim.target}
    whole = words.LOOKED if claim.is_answered(seen) else words.UNCLEAR
    advice = seen.advice or _advice(claim, seen).format(**names)
    return whole.format(txt=_txt(claim, seen.txt), cname=_cname(claim, seen), advice=advice, **names)


def _txt(claim: Claim, lookup: DnsLookup) -> str:
    if not lookup.values:
        return _absent(lookup)
    value, count = printable(lookup.values[0]), len(lookup.values)
    other = words.TXT_OTHER if count == 1 else words.TXT_OTHERS
    return other.format(value=value, count=count, token=claim.token)


def _cname(claim: Claim, seen: Seen) -> str:
    if claim.needs_txt:
        return words.CNAME_NO_PROOF
    *hops, last = seen.chain
    if not last.is_answer or last.problem == "loop":
        return _absent(last)
    if hops:  # the end of the chain is no alias: that is where it leads
        return words.CNAME_OTHER.format(found=printable(last.name), target=claim.target)
    if seen.addresses:
        return words.CNAME_ADDRESS.format(address=seen.addresses[0])
    return _absent(last)


def _absent(lookup: DnsLookup) -> str:
    if lookup.problem == "server_failed":
        return words.SERVER_FAILED.format(code=f" ({lookup.code})" if lookup.code else "")
    return _ABSENT[lookup.problem or "no_record"]


def _advice(claim: Claim, seen: Seen) -> str:
    problems = {seen.txt.problem, None if claim.needs_txt else seen.chain[-1].problem}
    if "unreachable" in problems:
        return words.ASK_OPERATOR
    if problems & {"server_failed", "timed_out"}:
        return words.ASK_PROVIDER
    if "loop" in problems:
        return words.BREAK_LOOP
    return _advice_on_records(claim, seen)


def _advice_on_records(claim: Claim, seen: Seen) -> str:
    if seen.txt.values:
        return words.CHANGE_TXT
    if claim.needs_txt:
        return words.SET_TXT
    if len(seen.chain) > 1:
        return words.CHANGE_CNAME
    return words.USE_TXT if seen.addresses else words.SET_EITHER
