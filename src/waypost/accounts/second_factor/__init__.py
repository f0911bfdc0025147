"""The second factor of people who sign in with a password: codes of an authenticator app, and recovery codes."""
