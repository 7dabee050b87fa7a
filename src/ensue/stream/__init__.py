"""Event batches: conformed to a schema, put in order, kept while they are needed."""
