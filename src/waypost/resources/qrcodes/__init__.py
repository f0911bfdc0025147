"""QR codes: every link has one, in the style its account chose."""

from waypost.resources.qrcodes.scans import add_scans, delete_for_links, find_wrong_scans, set_scans
