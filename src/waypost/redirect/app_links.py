"""Documents that say which apps open the links of a custom domain: iOS and Android request them at fixed paths."""

APPLE_PATH = b".well-known/apple-app-site-association"
GOOGLE_PATH = b".well-known/assetlinks.json"
