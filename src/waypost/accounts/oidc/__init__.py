"""Sign-in with an OpenID Connect provider. Imported only where one is configured.

`provider` asks the provider; `tokens` verifies what it signed, and `rules` reads claims (both pure). `flow` is the way
of a browser to the provider and back. `service` decides who signs in, and with which role.
"""
