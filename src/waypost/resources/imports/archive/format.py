"""What archives have in common, for those who write and read them."""

FORMAT = "waypost-export"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
