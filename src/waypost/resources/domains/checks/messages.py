"""Texts for domain owners: what a failed check looked for, what it found, what to do.

docs/guides/domains.md lists them all.

Values from DNS pass through `printable` before they are inserted.
"""

NOT_VERIFIED = (
    "No record was found that verifies {hostname}. TXT record {txt_name}: {txt}"
    " CNAME record {hostname}: {cname} {advice}"
)
UNCLEAR = "{hostname} could not be checked. TXT record {txt_name}: {txt} CNAME record {hostname}: {cname} {advice}"

# what was found instead of the record
NO_NAME = "the name does not exist."
NO_RECORD = "there is no such record."
TXT_OTHER = "its value is “{value}” instead of “{token}”."
TXT_OTHERS = "none of its {count} values is “{token}”; the first one is “{value}”."
CNAME_OTHER = "it points to {found} instead of {target}."
CNAME_ADDRESS = "there is no CNAME record, only the IP address {address}."
CNAME_NOT_ACCEPTED = "it is not accepted, because another account has verified this hostname before."
CNAME_IMPOSSIBLE = "it is not accepted, because this service has no public host name yet."
LOOP = "the CNAME records form a loop, or the chain is too long."
SERVER_FAILED = "the domain's name servers returned no usable answer{code}."
TIMED_OUT = "no name server answered in time."
UNREACHABLE = "the name servers that this service uses cannot be reached."

# what to do; the first that fits
SET_EITHER = (
    "Create one of these records at your DNS provider: a TXT record named {txt_name} with the value {token}, or a CNAME"
    " record named {hostname} that points to {target}. New records can take a few minutes to become visible. Then"
    " verify the domain again."
)
DOUBLED = (
    "The {kind} record exists at {found}, because your DNS provider adds {zone} to every name. Enter {short} as the"
    " record's name, then verify the domain again."
)
AT_HOSTNAME = "The TXT record exists at {hostname}. Move it to {txt_name}, then verify the domain again."
SET_TXT = (
    "Create a TXT record named {txt_name} with the value {token}. New records can take a few minutes to become visible."
    " Then verify the domain again."
)
CHANGE_TXT = "Change the TXT record's value to {token}, or add a second value, then verify the domain again."
CHANGE_CNAME = (
    "Point the CNAME record to {target}, or create a TXT record named {txt_name} with the value {token}. Then verify"
    " the domain again."
)
USE_TXT = (
    "A CNAME record cannot verify a hostname that has an IP address of its own, such as an apex domain or a proxied"
    " hostname. Create a TXT record named {txt_name} with the value {token}, then verify the domain again."
)
BREAK_LOOP = "Find the CNAME record that points back to itself and correct it, then verify the domain again."
ASK_PROVIDER = (
    "If the records are set, you do not need to change them. Ask your DNS provider whether its name servers (and"
    " DNSSEC) work, then verify the domain again."
)
ASK_OPERATOR = (
    "You do not need to change your records. Contact the administrator of this service and verify again later."
)
CRASHED = "{hostname} could not be checked because of an error in this service. Verify the domain again later."

MAIL_EITHER = """a TXT record at _waypost.{hostname}, and for a CNAME record
at {hostname} that points to {target}"""
MAIL_TXT = "a TXT record at _waypost.{hostname}"
MAIL_SUBJECT = "Short links on {hostname} no longer work"
MAIL = """\
Hello,

your domain {hostname} failed three checks in a row, the last one on {now}.
It was last verified on {verified}. Since {now} short links on {hostname}
do not work: visitors see a page that says “Link not found”.

Waypost looked for {looked}.
To see what it found instead, open {base_url}/domains/{id}
or request GET {base_url}/api/v1/domains/{id}

Correct the DNS record, then verify the domain again on that page or with
POST {base_url}/api/v1/domains/{id}/verify
Its links work again as soon as it is verified. A domain that stays unverified
for {days} days is removed, and its links move to the shared domain.
"""
