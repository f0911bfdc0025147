"""Sign-in by password, passkey or link: verbs, limits and pages."""
