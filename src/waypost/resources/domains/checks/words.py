"""What owners of domains read when a check fails: what was looked for, where, what was there, what to do.

All are in docs/domains.md. Values that strangers wrote pass through `printable` before they get in here.
"""

LOOKED = "No proof was found that {hostname} is yours. TXT {txt_name}: {txt} CNAME {hostname}: {cname} {advice}"
UNCLEAR = "{hostname} could not be checked right now. TXT {txt_name}: {txt} CNAME {hostname}: {cname} {advice}"

# what there was in the place of the record
NO_NAME = "there is no such name."
NO_RECORD = "there is no such record."
TXT_OTHER = "it says “{value}”, not “{token}”."
TXT_OTHERS = "none of its {count} values, the first of them “{value}”, is “{token}”."
CNAME_OTHER = "it leads to {found}, not to {target}."
CNAME_ADDRESS = "there is none, only the address {address}."
CNAME_NO_PROOF = "it proves nothing, because another account has verified this name before."
LOOP = "it leads in a circle, or through too many names."
SERVER_FAILED = "the domain's name servers gave no usable answer{code}."
TIMED_OUT = "no name server answered in time."
UNREACHABLE = "the name servers that this service asks cannot be reached."

# what to do; the first that fits
SET_EITHER = (
    "Set one of the two at your DNS provider: a TXT record at {txt_name} with the value {token}, or a CNAME record at"
    " {hostname} to {target}. A new record can take some minutes to be seen. Then verify again."
)
DOUBLED = (
    "The {kind} record stands at {found}: your DNS provider adds the zone {zone} by itself. Enter the name as"
    " {short} there, and verify again."
)
AT_THE_NAME = "The value stands at {hostname} itself: move the TXT record to {txt_name}, and verify again."
SET_TXT = (
    "Set a TXT record at {txt_name} with the value {token}. A new record can take some minutes to be seen. Then verify"
    " again."
)
CHANGE_TXT = "Set the TXT record's value to {token}, beside others or in their place, and verify again."
CHANGE_CNAME = "Let the CNAME record lead to {target}, or set a TXT record at {txt_name} to {token}. Then verify again."
USE_TXT = (
    "A name with an address of its own, such as the apex of a zone or one behind a proxy, cannot prove itself with"
    " CNAME: set a TXT record at {txt_name} with the value {token}, and verify again."
)
BREAK_LOOP = "Look for a CNAME record that leads back to itself, correct it, and verify again."
ASK_PROVIDER = (
    "Nothing needs to be changed if the records are set: ask your DNS provider whether its servers (and DNSSEC) work,"
    " and verify again."
)
ASK_OPERATOR = "Nothing needs to be changed in your records: tell whoever runs this service, and verify again later."
CRASHED = "{hostname} could not be checked right now, because of a fault of this service. Verify again later."

MAIL_EITHER = """a TXT record at _waypost.{hostname}, and for a CNAME record
at {hostname} that leads to {target}"""
MAIL_TXT = "a TXT record at _waypost.{hostname}"
MAIL_SUBJECT = "Short links on {hostname} no longer work"
MAIL = """\
Hello,

your domain {hostname} has failed three checks in a row, the last one on {now}.
It was last found to be yours on {verified}. Since {now} no short link on
{hostname} leads anywhere: visitors see a page that says “not found”.

We looked for {looked}.
What we found instead is told by
GET {base_url}/api/v1/domains/{id}

Once the record is in place, have the domain verified again, with
POST {base_url}/api/v1/domains/{id}/verify
Its links work again as soon as it is. A domain that stays unproven for {days} days
is removed, and its links move to the shared domain.
"""
