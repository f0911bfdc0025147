from waypost.kit.timezones import zone_names


def test_zone_names_are_iana_names() -> None:
    assert {"Europe/Berlin", "UTC"} <= zone_names()
    assert not {"../etc/passwd", "localtime", "Factory"} & zone_names()
