"""One file for each way to evaluate a query on a stream of event batches."""
