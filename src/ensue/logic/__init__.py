"""The formula of a query and its meaning by definition."""
