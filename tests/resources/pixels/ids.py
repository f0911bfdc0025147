"""Forms that a pixel id can have: all are accepted, so all fire."""

FORMS = {
    "digits": "1234567890",
    "a conversion id": "AW-123456789",
    "a container": "GTM-ABC123",
    "an ad account and a tag": "549755885175/2612345678901",
    "several slashes": "1/2/3",
    "ends with a slash": "1/",
    "climbs": "../../me/accounts",
    "a query": "1?a=b&c=d#e%2f",
    "closes the script": "</script><script>window.harmed=1</script><!--",
    "quotes": '"\'`\\"];window.harmed=1//',
    "of a template": "${window.harmed=1} {{7*7}} {} %s",
    "letters of elsewhere": "ピクセル é",
    "from the right": "מזהה 123",
    "not ASCII digits": "١٢٣",
    "a property of every object": "__proto__",
    "blanks": " a  b ",
    "the longest": "W" * 255,
    "the longest on a page": "\U0001f517" * 255,
}
