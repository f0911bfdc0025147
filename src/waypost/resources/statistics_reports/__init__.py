"""Reports of statistics by email, each week or month. Reports of abuse are in `resources/reports`."""
