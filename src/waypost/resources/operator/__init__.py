"""What the operator of the service does: suspends accounts, disables links, and reads reports of abuse."""
