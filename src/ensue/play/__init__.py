"""The playground: a page that shows what a query finds, and why."""
