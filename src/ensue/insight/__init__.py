"""Why a query matched, and why it did not: funnels and near misses."""
