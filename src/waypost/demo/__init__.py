"""The data of `waypost demo`: an account that looks alive. Nothing else imports this package."""
