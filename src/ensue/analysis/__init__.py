"""From syntax tree to bound query: names, types, schema, parameters, conditions."""
