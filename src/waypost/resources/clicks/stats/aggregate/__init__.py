"""Writes statistics: each batch of new clicks is added to totals, values and visitors."""
