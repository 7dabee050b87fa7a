"""From a bound query to a physical plan: operator, residual work, columns, distribution."""
