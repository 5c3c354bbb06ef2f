"""Results, as frozen dataclasses. Scores are `Decimal`, times are in UTC."""
