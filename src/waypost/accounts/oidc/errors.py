"""What goes wrong between us and the provider. Messages are for users, reasons for the log."""

from waypost.kit.errors import Forbidden, Unavailable


class ProviderUnavailable(Unavailable):
    """The single sign-on provider cannot be used right now. Try again in a few minutes."""

    retry_after = 10

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason


class SignInRefused(Forbidden):
    """The sign-in could not be verified. Start again."""

    def __init__(self, reason: str, message: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        """A few words without personal data, such as `nonce`."""
